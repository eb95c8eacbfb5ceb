// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Detect data races of two callers. The driver is compiled as for the kernel's
 * race detector, KCSAN, so that it calls a function of this file before each
 * access to memory that others may see. Some accesses wait here, and the other
 * caller runs. So an update that would be lost once in a million calls is lost
 * after a few. As in KCSAN, an access that waits is watched: if another caller
 * uses the same memory meanwhile, and one of the two writes, a lock is missing.
 *
 * KCSAN itself is not used, because it needs a kernel that is built with it, on
 * x86-64 only.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "call_trace.h"

#define WATCHES 4

static int waits;
module_param_named(race, waits, int, 0600);
MODULE_PARM_DESC(race, "one in this many accesses waits; 0: none");

/**
 * struct watch - an access that waits
 * @begin: its first byte
 * @end: the byte after it
 * @task: the caller; NULL if the entry is free
 * @place: its address in the driver
 * @write: whether it writes
 */
struct watch {
	unsigned long begin;
	unsigned long end;
	struct task_struct *task;
	void *place;
	bool write;
};

/* Protects the watches and the flag found. */
static DEFINE_SPINLOCK(watch_lock);
static struct watch watches[WATCHES];
/* The memory that data races on it were printed of, one for each address. */
static unsigned long found[WATCHES];
static int known;

static bool is_known(unsigned long address)
{
	for (int i = 0; i < known; i++)
		if (found[i] == address)
			return true;
	return known == ARRAY_SIZE(found);
}

/*
 * The driver could change the parameter "race", so the record has these counts.
 */
static atomic_t accesses, waited;

/* Print the first data race on each variable since the module was loaded. */
static void find_race(const struct watch *access)
{
	const struct watch *other = NULL;
	unsigned long flags;
	void *place = NULL;

	spin_lock_irqsave(&watch_lock, flags);
	for (int i = 0; i < WATCHES && !place; i++) {
		other = &watches[i];
		if (other->task && other->task != access->task &&
		    access->begin < other->end && other->begin < access->end &&
		    (access->write || other->write) &&
		    !is_known(access->begin)) {
			place = other->place;
			found[known++] = access->begin;
		}
	}
	spin_unlock_irqrestore(&watch_lock, flags);
	if (place)
		/* By the distance from a symbol of its own the grader finds the variable's. */
		pr_err("BUG: data race: %pS %s memory that %pS uses, %ld from watches\n",
		       access->place, access->write ? "writes" : "reads", place,
		       (long)(access->begin - (unsigned long)watches));
}

/* Return a watch for an access; NULL if all are in use. */
static struct watch *watch_begin(const struct watch *access)
{
	struct watch *watch = NULL;
	unsigned long flags;

	spin_lock_irqsave(&watch_lock, flags);
	for (int i = 0; i < WATCHES && !watch; i++) {
		if (!watches[i].task) {
			watch = &watches[i];
			*watch = *access;
		}
	}
	spin_unlock_irqrestore(&watch_lock, flags);
	return watch;
}

static void watch_end(struct watch *watch)
{
	unsigned long flags;

	spin_lock_irqsave(&watch_lock, flags);
	watch->task = NULL;
	spin_unlock_irqrestore(&watch_lock, flags);
}

/*
 * Wait; sleep if possible, because then the other caller is sure to get this
 * CPU.
 */
static void wait(void)
{
	if (in_atomic() || irqs_disabled())
		udelay(1);
	else
		usleep_range(1, 20);
}

/* Return true for about one in @race accesses. */
static bool is_chosen(int race)
{
	/*
	 * Concurrent updates of this number do no harm, because any sequence
	 * will do.
	 */
	static u32 chance = 1;

	chance = chance * 1664525 + 1013904223;
	return (chance >> 16) % race == 0;
}

/* @marked: an access by READ_ONCE or WRITE_ONCE, which needs no lock. */
static void before_access(unsigned long address, size_t size, bool write,
			  bool marked, void *place)
{
	struct watch access = { address, address + size, current, place,
				write };
	int race = READ_ONCE(waits);
	struct watch *watch;

	atomic_inc(&accesses);
	if (race <= 0)
		return;
	if (!marked)
		find_race(&access);
	if (!is_chosen(race))
		return;
	atomic_inc(&waited);
	watch = marked ? NULL : watch_begin(&access);
	wait();
	if (watch)
		watch_end(watch);
}

#define ACCESS(name, size, write, marked)                                  \
	void __tsan_##name(void *address);                                 \
	void __tsan_##name(void *address)                                  \
	{                                                                  \
		before_access((unsigned long)address, size, write, marked, \
			      __builtin_return_address(0));                \
	}

#define ACCESSES(size)                                           \
	ACCESS(read##size, size, false, false)                   \
	ACCESS(write##size, size, true, false)                   \
	ACCESS(read_write##size, size, true, false)              \
	ACCESS(unaligned_read##size, size, false, false)         \
	ACCESS(unaligned_write##size, size, true, false)         \
	ACCESS(unaligned_read_write##size, size, true, false)    \
	ACCESS(volatile_read##size, size, false, true)           \
	ACCESS(volatile_write##size, size, true, true)           \
	ACCESS(unaligned_volatile_read##size, size, false, true) \
	ACCESS(unaligned_volatile_write##size, size, true, true)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

#define ACCESS_RANGE(name, write)                                         \
	void __tsan_##name(void *address, long size);                     \
	void __tsan_##name(void *address, long size)                      \
	{                                                                 \
		before_access((unsigned long)address, size, write, false, \
			      __builtin_return_address(0));               \
	}

ACCESS_RANGE(read_range, false)
ACCESS_RANGE(write_range, true)

void race_report(void)
{
	report_step('=', "accesses", atomic_read(&accesses), 0);
	report_step('=', "waited", atomic_read(&waited), 0);
}

/*
 * The compiler's constructor calls this function, but there is nothing to set
 * up.
 */
void __tsan_init(void);
void __tsan_init(void)
{
}
