// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The driver of /dev/fibonacci, which is the same for every stage. fibdrv.h
 * describes its ABI, and stage.h the functions that a stage must define.
 * manifest.c holds what differs between the stages.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/timex.h>
#include <linux/uaccess.h>

#include "account.h"
#include "fibdrv.h"
#include "manifest.h"
#include "stage.h"
#include "stage_checks.h"

#define FIBDRV_NODE "fibonacci"

/*
 * The maximum number of digits in one batch of a measurement. It is large
 * enough that a clock resolution of 256 ns does not matter, and small enough
 * for the cache.
 */
#define BATCH_BYTES (64 * 1024)
#define BATCH_MAX 1024

/* With more digits, a measurement omits the slow checks of fib_decimal. */
#define CHECKED_DIGITS 2000

static bool ktime_measure = true;

/*
 * Return an upper bound on the number of digits of F(n). F(n) < phi^n, so F(n)
 * has at most n * log10(phi) + 1 digits, and
 * log10(phi) = 0.20898764... < 0.2089877.
 */
static size_t digits_bound(u64 n)
{
	return div_u64(n * 2089877, 10000000) + 1;
}

/* Call fib_decimal. @digits has @bound bytes, and guard bytes follow them. */
static ssize_t guarded_decimal(struct fib_call *call, const union fib_value *f,
			       char *digits, size_t bound, u64 n)
{
	ssize_t count;

	fib_guard_set(digits, bound);
	count = fib_decimal(call, f, digits, bound);
	if (!fib_guard_holds(digits, bound, n))
		return -EIO;
	if (count <= 0 || count > bound)
		return fib_check_error(count, n);
	return count;
}

static loff_t fibdrv_llseek(struct file *file, loff_t offset, int whence)
{
	return fixed_size_llseek(file, offset, whence, fibdrv_max_n);
}

/*
 * A read does not change the position, and never reports end of file. This
 * part of the ABI comes from the older driver that the course is based on. Do
 * not imitate it: a read must advance *position by its return value, and return
 * 0 at the end, as first_read of stage 0 does.
 */
static ssize_t fibdrv_read(struct file *file, char __user *buf, size_t size,
			   loff_t *position)
{
	struct fib_account account = FIB_ACCOUNT(account);
	u64 n = *position;
	union fib_value f;
	size_t bound;
	char *digits;
	ssize_t ret;

	if (n > fibdrv_max_n)
		return -EINVAL;
	bound = digits_bound(n);
	digits = kvmalloc(bound + GUARD_BYTES,
			  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!digits)
		return -ENOMEM;

	ret = fib_compute(&account.call, n, &f);
	if (ret) {
		ret = fib_check_error(ret, n);
		goto out;
	}
	ret = guarded_decimal(&account.call, &f, digits, bound, n);
	fib_release(&f);
	if (ret < 0)
		goto out;
	if (ret > size)
		ret = -ERANGE;
	else if (copy_to_user(buf, digits, ret))
		ret = -EFAULT;
out:
	fib_check_account(&account, n);
	kvfree(digits);
	return ret;
}

/*
 * Return the nanoseconds of a computation, like the driver that the course is
 * based on. Do not imitate it: a write must return the number of bytes that it
 * has taken. Use an ioctl such as FIBDRV_IOC_MEASURE, or debugfs, to measure.
 */
static ssize_t fibdrv_write(struct file *file, const char __user *buf,
			    size_t size, loff_t *position)
{
	struct fib_account account = FIB_ACCOUNT(account);
	u64 n = *position;
	union fib_value f;
	u64 begin, ns;
	int err;

	if (n > fibdrv_max_n)
		return -EINVAL;
	if (!READ_ONCE(ktime_measure))
		return size;

	begin = ktime_get_ns();
	err = fib_compute(&account.call, n, &f);
	ns = ktime_get_ns() - begin;
	if (err)
		err = fib_check_error(err, n);
	else
		fib_release(&f);
	fib_check_account(&account, n);
	return err ? err : max_t(u64, ns, 1);
}

/* User-mode Linux has no cycle counter, so read the processor's TSC. */
static u64 cycles_now(void)
{
#if defined(CONFIG_UML) && defined(CONFIG_X86_64)
	return __builtin_ia32_rdtsc();
#else
	return get_cycles();
#endif
}

struct stopwatch {
	u64 ns;
	u64 cycles;
};

static struct stopwatch stopwatch_begin(void)
{
	struct stopwatch begin;

	begin.ns = ktime_get_ns();
	begin.cycles = cycles_now();
	return begin;
}

static void stopwatch_end(struct stopwatch begin, __u64 *ns, __u64 *cycles)
{
	*cycles += cycles_now() - begin.cycles;
	*ns += ktime_get_ns() - begin.ns;
}

/*
 * A batch of repetitions: their numbers, and for each repetition a slot for its
 * digits.
 */
struct batch {
	union fib_value *f;
	ssize_t *count; /* the return values of fib_decimal */
	char *digits;
	size_t bound; /* size of a slot, without GUARD_BYTES */
	u32 room; /* number of slots */
};

static int batch_alloc(struct batch *b, u64 n, u32 repeat)
{
	size_t slot;

	b->bound = digits_bound(n);
	slot = b->bound + GUARD_BYTES;
	b->room = clamp_t(size_t, BATCH_BYTES / slot, 1, BATCH_MAX);
	b->room = min(b->room, repeat);
	b->f = kvmalloc_array(b->room, sizeof(*b->f),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	b->count = kvmalloc_array(b->room, sizeof(*b->count),
				  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	b->digits = kvmalloc_array(b->room, slot,
				   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	return b->f && b->count && b->digits ? 0 : -ENOMEM;
}

static void batch_free(struct batch *b)
{
	kvfree(b->digits);
	kvfree(b->count);
	kvfree(b->f);
}

static char *batch_digits(const struct batch *b, u32 i)
{
	return b->digits + i * (b->bound + GUARD_BYTES);
}

/* Return the n of repetition @i. */
static u64 measure_n(const struct fibdrv_measure *m, u32 i)
{
	return m->n - i % (m->spread + 1);
}

/*
 * Return true if a batch is a single call for a large number. To save time, the
 * driver does not compute such a number a second time before the measurement to
 * find its properties.
 */
static bool batch_is_a_call(const struct batch *b)
{
	return b->room == 1 && b->bound > CHECKED_DIGITS;
}

/*
 * Run repetitions @first to @first + @count - 1, and time each phase as a
 * whole.
 */
static int measure_batch(struct fibdrv_measure *m, struct batch *b, u32 first,
			 u32 count)
{
	struct fib_account compute = FIB_ACCOUNT(compute);
	struct fib_account decimal = FIB_ACCOUNT(decimal);
	struct stopwatch begin;
	int err = 0;
	u32 done, i;
	u64 held;

	begin = stopwatch_begin();
	for (done = 0; done < count; done++) {
		err = fib_compute(&compute.call, measure_n(m, first + done),
				  &b->f[done]);
		if (err)
			break;
	}
	stopwatch_end(begin, &m->compute_ns, &m->compute_cycles);
	held = compute.bytes;
	if (err) {
		err = fib_check_error(err, m->n);
		goto release;
	}

	for (i = 0; i < count; i++)
		fib_guard_set(batch_digits(b, i), b->bound);
	begin = stopwatch_begin();
	for (i = 0; i < count; i++) {
		b->count[i] = fib_decimal(&decimal.call, &b->f[i],
					  batch_digits(b, i), b->bound);
		if (b->count[i] <= 0)
			break;
	}
	stopwatch_end(begin, &m->decimal_ns, &m->decimal_cycles);
	if (i < count) {
		err = fib_check_error(b->count[i], m->n);
		goto release;
	}

	for (i = 0; i < count; i++) {
		if (!fib_guard_holds(batch_digits(b, i), b->bound,
				     measure_n(m, first + i))) {
			err = -EIO;
			break;
		}
		if (b->count[i] > b->bound) {
			err = fib_check_error(b->count[i], m->n);
			break;
		}
		m->digits += b->count[i];
		m->digest ^= fnv1a(batch_digits(b, i), b->count[i]);
		m->digest *= 0x100000001b3ULL;
	}
	if (!err && !first && batch_is_a_call(b)) {
		m->limbs = fib_limbs(b->f);
		m->peak_bytes =
			max(compute.peak_bytes, held + decimal.peak_bytes);
		if (!fib_check_kept(held, b->count[0], m->n))
			err = -EIO;
	}

release:
	begin = stopwatch_begin();
	while (done--)
		fib_release(&b->f[done]);
	stopwatch_end(begin, &m->compute_ns, &m->compute_cycles);
	m->compute_allocations += compute.allocations;
	m->decimal_allocations += decimal.allocations;
	fib_check_account(&compute, m->n);
	fib_check_account(&decimal, m->n);
	return err;
}

/* Make one call for F(n), to measure its memory and to warm the caches. */
static int measure_one(struct fibdrv_measure *m, struct batch *b)
{
	struct fib_account account = FIB_ACCOUNT(account);
	union fib_value f;
	ssize_t ret;
	u64 bytes;

	ret = fib_compute(&account.call, m->n, &f);
	if (ret) {
		ret = fib_check_error(ret, m->n);
		goto end;
	}
	bytes = account.bytes;
	ret = guarded_decimal(&account.call, &f, b->digits, b->bound, m->n);
	if (ret > 0 && !fib_check_kept(bytes, ret, m->n))
		ret = -EIO;
	m->limbs = fib_limbs(&f);
	m->peak_bytes = account.peak_bytes;
	if (ret > 0 && ret <= CHECKED_DIGITS)
		ret = fib_check_decimal(&account.call, &f, b->digits, ret,
					m->n);
	fib_release(&f);
end:
	fib_check_account(&account, m->n);
	return ret < 0 ? ret : 0;
}

static bool measure_valid(const struct fibdrv_measure *m)
{
	return m->size == sizeof(*m) && !m->flags && m->n <= fibdrv_max_n &&
	       m->spread <= m->n && m->repeat >= 1 &&
	       m->repeat <= FIBDRV_MAX_REPEAT &&
	       !memchr_inv(m->reserved, 0, sizeof(m->reserved));
}

static long fibdrv_measure(struct fibdrv_measure __user *arg)
{
	struct fibdrv_measure m;
	struct batch b = {};
	int err;

	if (copy_from_user(&m, arg, sizeof(m)))
		return -EFAULT;
	if (!measure_valid(&m))
		return -EINVAL;
	m.compute_ns = 0;
	m.compute_cycles = 0;
	m.decimal_ns = 0;
	m.decimal_cycles = 0;
	m.compute_allocations = 0;
	m.decimal_allocations = 0;
	m.digits = 0;
	m.digest = m.nonce;

	err = batch_alloc(&b, m.n, m.repeat);
	if (!err && !batch_is_a_call(&b))
		err = measure_one(&m, &b);
	for (u32 done = 0, count; !err && done < m.repeat; done += count) {
		count = min(b.room, m.repeat - done);
		err = measure_batch(&m, &b, done, count);
		cond_resched();
		if (!err && fatal_signal_pending(current))
			err = -EINTR;
	}
	batch_free(&b);
	if (!err && copy_to_user(arg, &m, sizeof(m)))
		err = -EFAULT;
	return err;
}

static long fibdrv_ioctl(struct file *file, unsigned int request,
			 unsigned long arg)
{
	switch (request) {
	case FIBDRV_IOC_MEASURE:
		return fibdrv_measure((void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations fibdrv_fops = {
	.owner = THIS_MODULE,
	.llseek = fibdrv_llseek,
	.read = fibdrv_read,
	.write = fibdrv_write,
	.unlocked_ioctl = fibdrv_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static ssize_t stage_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%u\n", fibdrv_stage);
}
static DEVICE_ATTR_RO(stage);

static ssize_t max_n_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%u\n", fibdrv_max_n);
}
static DEVICE_ATTR_RO(max_n);

static ssize_t ktime_measure_show(struct device *dev,
				  struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(ktime_measure));
}

static ssize_t ktime_measure_store(struct device *dev,
				   struct device_attribute *attr,
				   const char *buf, size_t count)
{
	u8 value;

	if (kstrtou8(buf, 10, &value) || value > 1)
		return -EINVAL;
	WRITE_ONCE(ktime_measure, value);
	return count;
}
static DEVICE_ATTR_RW(ktime_measure);

static struct attribute *fibdrv_attrs[] = {
	&dev_attr_stage.attr,
	&dev_attr_max_n.attr,
	&dev_attr_ktime_measure.attr,
	NULL,
};
ATTRIBUTE_GROUPS(fibdrv);

/*
 * A driver with one device should be a miscdevice, as in stage 0: then init and
 * exit need one call each. This driver is not, because programs know the paths
 * of its files in sysfs, which are in a class of its own. A miscdevice cannot
 * have such a class.
 *
 * The class is a static object, because the arguments of class_create have
 * changed between kernel versions.
 */
static struct class fibdrv_class = {
	.name = FIBDRV_NODE,
	.dev_groups = fibdrv_groups,
};

static dev_t fibdrv_number;
static struct cdev fibdrv_cdev;

static int __init fibdrv_init(void)
{
	struct device *device;
	int err;

	err = alloc_chrdev_region(&fibdrv_number, 0, 1, FIBDRV_NODE);
	if (err)
		return err;
	err = class_register(&fibdrv_class);
	if (err)
		goto unregister_region;
	cdev_init(&fibdrv_cdev, &fibdrv_fops);
	fibdrv_cdev.owner = THIS_MODULE;
	err = cdev_add(&fibdrv_cdev, fibdrv_number, 1);
	if (err)
		goto unregister_class;
	/*
	 * Create the device last, because from here on udev and users can open
	 * it.
	 */
	device = device_create(&fibdrv_class, NULL, fibdrv_number, NULL,
			       FIBDRV_NODE);
	if (IS_ERR(device)) {
		err = PTR_ERR(device);
		goto delete_cdev;
	}
	return 0;

delete_cdev:
	cdev_del(&fibdrv_cdev);
unregister_class:
	class_unregister(&fibdrv_class);
unregister_region:
	unregister_chrdev_region(fibdrv_number, 1);
	return err;
}

static void __exit fibdrv_exit(void)
{
	device_destroy(&fibdrv_class, fibdrv_number);
	cdev_del(&fibdrv_cdev);
	class_unregister(&fibdrv_class);
	unregister_chrdev_region(fibdrv_number, 1);
}

module_init(fibdrv_init);
module_exit(fibdrv_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The fibdrv lab kit");
