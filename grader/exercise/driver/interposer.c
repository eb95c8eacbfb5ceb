// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Interpose between a learner's driver and the kernel: the linker redirects the
 * driver's calls here (ld --wrap). So the interposer can make any step fail,
 * and it knows which resources the driver has not released. This file is linked
 * into the module, with two parameters:
 *
 *	insmod first.ko fail=3	make the third step that can fail return an
 *				error, once
 *	insmod first.ko watch=1	print each step to the kernel log
 *
 * The grader does not trust the log, which the driver writes to as well: see
 * call_trace.c.
 *
 * "+" is a step that was done, "-" a step that was undone, and "!" a step that
 * was made to fail, with the error. After the function's name follows its
 * object, which is the same for a step and its undoing. "=" adds a property. It
 * belongs to the step before it (the bytes of an allocation, or whether the
 * driver wrote behind a freed block) or to the step after it (whether the file
 * operations name the module as their owner, and whether the notebook has its
 * first lines).
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>

#include "call_trace.h"
#include "first.h"
#define FIRST_KIT
#include "may_fault.h"

static int fail;
module_param(fail, int, 0600);
MODULE_PARM_DESC(fail, "which step from now on fails, 1 is the next; 0: none");

static bool watch;
module_param(watch, bool, 0600);
MODULE_PARM_DESC(watch, "print each step to the kernel log");

static int error = EUSERS;
module_param(error, int, 0600);
MODULE_PARM_DESC(error, "the error of a step that fails, except an allocation");

/* Record that the client has loaded the module, so that init has ended. */
static int loaded_set(const char *value, const struct kernel_param *kp)
{
	report_step('=', "loaded", 0, 0);
	return 0;
}

static const struct kernel_param_ops loaded_ops = { .set = loaded_set };
module_param_cb(loaded, &loaded_ops, NULL, 0200);
MODULE_PARM_DESC(loaded, "record that init has ended");

static void told(char what, const char *name, unsigned long about)
{
	if (watch && what != '=')
		pr_info("interposer: %c %s %lx\n", what, name, about);
	report_step(what, name, about, 0);
}

/* Return @wanted if the current step is the one that must fail, else 0. */
static int fails(const char *name, int wanted)
{
	if (fail <= 0 || --fail)
		return 0;
	told('!', name, wanted);
	return wanted;
}

/*
 * Report a call that may sleep, on a page fault or to wait for free memory,
 * under a spinlock or while interrupts are off.
 */
static void may_sleep(const char *name)
{
	if (!(IS_ENABLED(CONFIG_PREEMPT_COUNT) && in_atomic()) &&
	    !irqs_disabled())
		return;
	pr_err("BUG: sleeping function called while a spinlock is held: %s\n",
	       name);
	dump_stack();
}

/*
 * Return the number of an object in the trace. It is the same when the object
 * is created and when it is removed.
 */
#define ABOUT(thing) ((unsigned long)(thing))

/* clang-format off: the real function, and the wrapper that replaces it. */
#define WRAP(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)
/* clang-format on */

/*
 * The objects that the driver has registered, each with the function that
 * registered it. The kernel would crash if the driver removed an object that is
 * not registered, so such a call is only reported.
 */
#define MOST_REGISTERED 32

static struct registered {
	const char *by;
	unsigned long about;
} registered[MOST_REGISTERED];

/* Replace the first entry that equals @old. Return whether there is one. */
static bool replace_registered(struct registered old, struct registered new)
{
	unsigned long flags;
	bool found = false;

	flags = kit_enter();
	for (int i = 0; i < MOST_REGISTERED && !found; i++) {
		const char *by = registered[i].by;

		if (registered[i].about == old.about &&
		    (by && old.by ? !strcmp(by, old.by) : by == old.by)) {
			registered[i] = new;
			found = true;
		}
	}
	kit_leave(flags);
	return found;
}

static int done(const char *name, int error, unsigned long about)
{
	struct registered new = { name, about };

	if (!error) {
		told('+', name, about);
		replace_registered((struct registered){}, new);
	}
	return error;
}

/* Return whether the function @does has registered the object. */
static bool undone(const char *name, const char *does, unsigned long about)
{
	struct registered old = { does, about };

	told('-', name, about);
	return replace_registered(old, (struct registered){});
}

/* The first lines, which first_begin writes: F(0) to F(FIRST_BEGINNING - 1). */
static const char beginning[] = "0\n1\n1\n2\n3\n5\n8\n13\n21\n34\n";

/*
 * Report the properties that the device must have before the step that creates
 * the device, because programs can open the device from then on.
 */
static void told_device(const struct file_operations *fops)
{
	told('=', "owner", fops && fops->owner == THIS_MODULE);
	told('=', "beginning", find_notebook(beginning, sizeof(beginning) - 1));
}

/* Report whether the device was made. Programs can open it from now on. */
static int device_made(const char *name, int err, unsigned long about)
{
	if (!err)
		locks_begin();
	return done(name, err, about);
}

WRAP(int, alloc_chrdev_region, dev_t *number, unsigned int first,
     unsigned int count, const char *name)
{
	int err;

	if (fails("alloc_chrdev_region", error))
		return -error;
	err = __real_alloc_chrdev_region(number, first, count, name);
	return done("alloc_chrdev_region", err, err ? 0 : *number);
}

WRAP(void, unregister_chrdev_region, dev_t number, unsigned int count)
{
	if (undone("unregister_chrdev_region", "alloc_chrdev_region", number))
		__real_unregister_chrdev_region(number, count);
}

WRAP(int, cdev_add, struct cdev *cdev, dev_t number, unsigned int count)
{
	if (fails("cdev_add", error))
		return -error;
	told_device(cdev->ops);
	return device_made("cdev_add", __real_cdev_add(cdev, number, count),
			   ABOUT(cdev));
}

WRAP(void, cdev_del, struct cdev *cdev)
{
	locks_end();
	if (undone("cdev_del", "cdev_add", ABOUT(cdev)))
		__real_cdev_del(cdev);
}

/* From Linux 6.4 on a class is constant, and class_register is not a macro. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define CLASS_TYPE const struct class *class

WRAP(int, class_register, CLASS_TYPE)
{
	if (fails("class_register", error))
		return -error;
	return done("class_register", __real_class_register(class),
		    ABOUT(class));
}
#else
#define CLASS_TYPE struct class *class

WRAP(int, __class_register, CLASS_TYPE, struct lock_class_key *key)
{
	if (fails("class_register", error))
		return -error;
	return done("class_register", __real___class_register(class, key),
		    ABOUT(class));
}
#endif

WRAP(void, class_unregister, CLASS_TYPE)
{
	if (undone("class_unregister", "class_register", ABOUT(class)))
		__real_class_unregister(class);
}

WRAP(struct device *, device_create, CLASS_TYPE, struct device *parent,
     dev_t number, void *data, const char *format, ...)
{
	struct device *device;
	char name[64];
	va_list list;

	va_start(list, format);
	vscnprintf(name, sizeof(name), format, list);
	va_end(list);
	if (fails("device_create", error))
		return ERR_PTR(-error);
	device = __real_device_create(class, parent, number, data, "%s", name);
	done("device_create", PTR_ERR_OR_ZERO(device), number);
	return device;
}

WRAP(void, device_destroy, CLASS_TYPE, dev_t number)
{
	if (undone("device_destroy", "device_create", number))
		__real_device_destroy(class, number);
}

WRAP(int, misc_register, struct miscdevice *misc)
{
	if (fails("misc_register", error))
		return -error;
	told_device(misc->fops);
	return device_made("misc_register", __real_misc_register(misc),
			   ABOUT(misc));
}

WRAP(void, misc_deregister, struct miscdevice *misc)
{
	locks_end();
	if (undone("misc_deregister", "misc_register", ABOUT(misc)))
		__real_misc_deregister(misc);
}

/* All functions that allocate memory fail and are reported as kmalloc. */
static bool no_memory(gfp_t gfp)
{
	if (gfpflags_allow_blocking(gfp))
		may_sleep("kmalloc with GFP_KERNEL");
	return fails("kmalloc", ENOMEM);
}

static void *taken(void *memory, size_t size, gfp_t gfp, unsigned long caller)
{
	if (!memory)
		return NULL;
	block_taken(memory, size, gfp & __GFP_ZERO);
	if (watch)
		pr_info("interposer: + kmalloc %lx %pS\n", ABOUT(memory),
			(void *)caller);
	report_step('+', "kmalloc", ABOUT(memory), caller);
	told('=', "bytes", size);
	return memory;
}

static void given_back(const void *memory)
{
	if (!memory)
		return;
	told('-', "kfree", ABOUT(memory));
	if (block_freed(memory))
		told('=', "overrun", ABOUT(memory));
}

/*
 * Allocate by @real, with some bytes behind the block. The caches that the
 * kernel's header chooses for a constant size have no space for these bytes.
 */
#define WRAP_TAKE(name, gfp, real, ...)                               \
	WRAP(void *, name, __VA_ARGS__)                               \
	{                                                             \
		void *memory;                                         \
                                                                      \
		if (no_memory(gfp) || size > SIZE_MAX - BEHIND_BLOCK) \
			return NULL;                                  \
		memory = real;                                        \
		return taken(memory, size, gfp, _RET_IP_);            \
	}

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
WRAP_TAKE(__kmalloc_noprof, gfp,
	  __real___kmalloc_noprof(size + BEHIND_BLOCK, gfp), size_t size,
	  gfp_t gfp)
WRAP_TAKE(__kmalloc_cache_noprof, gfp,
	  __real___kmalloc_noprof(size + BEHIND_BLOCK, gfp),
	  struct kmem_cache *cache, gfp_t gfp, size_t size)
WRAP_TAKE(__kmalloc_large_noprof, gfp,
	  __real___kmalloc_noprof(size + BEHIND_BLOCK, gfp), size_t size,
	  gfp_t gfp)
WRAP_TAKE(vmalloc_noprof, GFP_KERNEL,
	  __real_vmalloc_noprof(size + BEHIND_BLOCK), unsigned long size)
WRAP_TAKE(vzalloc_noprof, GFP_KERNEL | __GFP_ZERO,
	  __real_vzalloc_noprof(size + BEHIND_BLOCK), unsigned long size)
#else
WRAP_TAKE(__kmalloc, gfp, __real___kmalloc(size + BEHIND_BLOCK, gfp),
	  size_t size, gfp_t gfp)
WRAP_TAKE(kmalloc_trace, gfp, __real___kmalloc(size + BEHIND_BLOCK, gfp),
	  struct kmem_cache *cache, gfp_t gfp, size_t size)
WRAP_TAKE(kmalloc_large, gfp, __real___kmalloc(size + BEHIND_BLOCK, gfp),
	  size_t size, gfp_t gfp)
WRAP_TAKE(vmalloc, GFP_KERNEL, __real_vmalloc(size + BEHIND_BLOCK),
	  unsigned long size)
WRAP_TAKE(vzalloc, GFP_KERNEL | __GFP_ZERO, __real_vzalloc(size + BEHIND_BLOCK),
	  unsigned long size)
#endif

WRAP(void, kfree, const void *memory)
{
	given_back(memory);
	__real_kfree(memory);
}

WRAP(void, vfree, const void *memory)
{
	given_back(memory);
	__real_vfree(memory);
}

/*
 * may_fault.h makes every access to user memory call this function first, also
 * where the kernel inlines the access.
 */
void first_may_fault(void)
{
	may_sleep("copy_to_user, copy_from_user, or the like");
}

/* may_fault.h calls this for the kernel memory that inlined copies access. */
void first_copies(const volatile void *address, size_t size, bool write)
{
	race_range((const void *)address, size, write, (void *)_RET_IP_);
}

/*
 * Wrap these functions unless the kernel inlines them. Linux 7 has one macro
 * for both directions.
 */
#ifdef INLINE_COPY_USER
#define INLINE_COPY_TO_USER
#define INLINE_COPY_FROM_USER
#endif

#ifndef INLINE_COPY_TO_USER
WRAP(unsigned long, _copy_to_user, void __user *to, const void *from,
     unsigned long size)
{
	may_sleep("copy_to_user");
	race_range(from, size, false, (void *)_RET_IP_);
	return __real__copy_to_user(to, from, size);
}
#endif

#ifndef INLINE_COPY_FROM_USER
WRAP(unsigned long, _copy_from_user, void *to, const void __user *from,
     unsigned long size)
{
	may_sleep("copy_from_user");
	locks_copied((unsigned long)from, size);
	race_range(to, size, true, (void *)_RET_IP_);
	return __real__copy_from_user(to, from, size);
}
#endif

/*
 * With lockdep, mutex_lock is a macro for another function, which itself checks
 * whether it may sleep.
 */
#ifndef CONFIG_DEBUG_LOCK_ALLOC
WRAP(void, mutex_lock, struct mutex *lock)
{
	may_sleep("mutex_lock");
	__real_mutex_lock(lock);
	locks_taken(lock, false);
}
#endif

/*
 * Return whether the current task holds a mutex, or true if the owner is not
 * known.
 */
static bool holds(const struct mutex *lock)
{
#ifdef CONFIG_PREEMPT_RT
	return true;
#else
	/* The three lowest bits are flags. */
	return (atomic_long_read(&lock->owner) & ~7ul) == ABOUT(current);
#endif
}

WRAP(void, mutex_unlock, struct mutex *lock)
{
	if (holds(lock)) {
		locks_released(lock);
		__real_mutex_unlock(lock);
		race_wait();
		return;
	}
	pr_err("BUG: mutex_unlock by a caller that does not hold the lock\n");
	dump_stack();
}

/*
 * The driver is compiled with -fsanitize=bounds,object-size, so an access
 * outside an array or structure of known size calls these functions.
 */
void __ubsan_handle_out_of_bounds(void *data, void *index);
void __ubsan_handle_out_of_bounds(void *data, void *index)
{
	pr_err("BUG: index %ld is outside of its array\n", (long)index);
	dump_stack();
}

void __ubsan_handle_type_mismatch_v1(void *data, void *address);
void __ubsan_handle_type_mismatch_v1(void *data, void *address)
{
	pr_err("BUG: an access outside of the array or structure\n");
	dump_stack();
}

/* may_fault.h calls this for a write by a function of the kernel. */
void __ubsan_first_overflow(size_t size, size_t room)
{
	pr_err("BUG: a function writes %zu bytes to an array or structure of %zu\n",
	       size, room);
	dump_stack();
}
