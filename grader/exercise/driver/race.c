// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Detect data races of two callers. The driver is compiled as for the kernel's
 * race detector, KCSAN, so that it calls a function of this file before each
 * access to memory that other threads may access. Some accesses wait here while
 * the other caller runs. So a lost update, which is as rare as one in a million
 * calls otherwise, occurs after a few calls. As in KCSAN, an access that waits
 * is watched: if another caller uses the same memory meanwhile, and one of the
 * two writes, a lock is missing. A function that copies memory counts as one
 * access to the whole range. Some callers also wait after they have released a
 * mutex.
 *
 * locks.c checks the same accesses for locks.
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
/* The maximum number of addresses for which a data race is printed. */
#define MOST_FOUND 64

/*
 * The driver can find its parameters by THIS_MODULE->kp, so no parameter has
 * the address of its value, and each new value is a step in the trace.
 */
static int waits;

static int waits_set(const char *value, const struct kernel_param *kp)
{
	int err = kstrtoint(value, 10, &waits);

	report_step('=', "race", waits, 0);
	return err;
}

static const struct kernel_param_ops waits_ops = { .set = waits_set };
module_param_cb(race, &waits_ops, NULL, 0200);
MODULE_PARM_DESC(race, "one in this many accesses waits; 0: none");

/**
 * struct watch - an access that waits
 * @begin: the address of the first byte that is accessed
 * @end: the address after the last byte
 * @task: the caller; NULL if the entry is free
 * @place: the address of the access in the driver's code
 * @write: whether the access is a write
 * @marked: whether the access is by READ_ONCE or WRITE_ONCE
 * @copied: whether a function that copies memory makes the access, in many
 * 	steps
 */
struct watch {
	unsigned long begin;
	unsigned long end;
	struct task_struct *task;
	void *place;
	bool write;
	bool marked;
	bool copied;
};

static struct watch watches[WATCHES];
/* The addresses for which a data race has been printed. */
static unsigned long found[MOST_FOUND];
static int known;

static bool is_known(unsigned long address)
{
	for (int i = 0; i < known; i++)
		if (found[i] == address)
			return true;
	if (known < MOST_FOUND)
		return false;
	report_full("full_races", MOST_FOUND);
	return true;
}

/*
 * The record includes these counts, because the driver could change the
 * parameter "race".
 */
static atomic_t accesses, waited;

/*
 * Return whether two accesses are a data race. A marked access needs no lock,
 * except against a copy.
 */
static bool is_race(const struct watch *one, const struct watch *other)
{
	return other->task && other->task != one->task &&
	       one->begin < other->end && other->begin < one->end &&
	       (one->write || other->write) &&
	       (one->copied || other->copied ||
		!(one->marked || other->marked));
}

/*
 * The grader finds a variable by its distance from the symbol watches, because
 * addresses are not printed.
 */
long from_watches(unsigned long address)
{
	return (long)(address - (unsigned long)watches);
}

void print_race(const void *place, bool write, const void *other,
		unsigned long address)
{
	pr_err("BUG: data race: %pS %s memory that %pS uses, %ld from watches\n",
	       place, write ? "writes" : "reads", other, from_watches(address));
}

/* Print the first data race on each variable since the module was loaded. */
static void find_race(const struct watch *access)
{
	const struct watch *other = NULL;
	unsigned long flags;
	void *place = NULL;

	flags = kit_enter();
	for (int i = 0; i < WATCHES && !place; i++) {
		other = &watches[i];
		if (is_race(access, other) && !is_known(access->begin)) {
			place = other->place;
			found[known++] = access->begin;
		}
	}
	kit_leave(flags);
	if (place)
		print_race(access->place, access->write, place, access->begin);
}

/* Return a watch for an access; NULL if all are in use. */
static struct watch *watch_begin(const struct watch *access)
{
	struct watch *watch = NULL;
	unsigned long flags;

	flags = kit_enter();
	for (int i = 0; i < WATCHES && !watch; i++) {
		if (!watches[i].task) {
			watch = &watches[i];
			*watch = *access;
		}
	}
	kit_leave(flags);
	return watch;
}

static void watch_end(struct watch *watch)
{
	unsigned long flags;

	flags = kit_enter();
	watch->task = NULL;
	kit_leave(flags);
}

/*
 * Wait. Sleep if possible, because then the other caller certainly gets this
 * CPU.
 */
static void wait(void)
{
	if (in_atomic() || irqs_disabled())
		udelay(1);
	else
		usleep_range(1, 20);
}

/* Return true for approximately one in @race accesses. */
static bool is_chosen(int race)
{
	/*
	 * Concurrent updates of this number are harmless, because any sequence
	 * of numbers is suitable.
	 */
	static u32 chance = 1;

	chance = chance * 1664525 + 1013904223;
	return (chance >> 16) % race == 0;
}

bool race_chosen(void)
{
	int race = READ_ONCE(waits);

	return race > 0 && is_chosen(race);
}

void race_wait_atomic(void)
{
	if (race_chosen())
		wait();
}

static void before_access(unsigned long address, size_t size, bool write,
			  bool marked, bool copied, void *place)
{
	struct watch access = { address, address + size, current, place,
				write,	 marked,	 copied };
	int race = READ_ONCE(waits);
	struct watch *watch;

	atomic_inc(&accesses);
	locks_access(address, write, marked, place);
	if (race <= 0)
		return;
	find_race(&access);
	if (!is_chosen(race))
		return;
	atomic_inc(&waited);
	watch = watch_begin(&access);
	wait();
	if (watch)
		watch_end(watch);
}

#define ACCESS(name, size, write, marked)                                  \
	void __tsan_##name(void *address);                                 \
	void __tsan_##name(void *address)                                  \
	{                                                                  \
		before_access((unsigned long)address, size, write, marked, \
			      false, __builtin_return_address(0));         \
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
			      true, __builtin_return_address(0));         \
	}

ACCESS_RANGE(read_range, false)
ACCESS_RANGE(write_range, true)

void race_range(const void *address, size_t size, bool write, void *place)
{
	if (kit_is_entered())
		return;
	before_access((unsigned long)address, size, write, false, true, place);
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	locks_enter();
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
	locks_leave();
}

/* The number of critical sections that have ended. */
static atomic_t sections;

/*
 * After a critical section, wait until the other caller has ended two, or for
 * WAITS times. So if a second section relies on a check in the first section,
 * the checked state has changed by then. If all accesses wait, wait for longer
 * than the other caller needs to get here.
 */
#define WAITS 20

void race_wait(void)
{
	int before = atomic_inc_return(&sections);

	if (!race_chosen())
		return;
	if (READ_ONCE(waits) == 1 && !in_atomic() && !irqs_disabled()) {
		usleep_range(5000, 6000);
		return;
	}
	for (int i = 0; i < WAITS && atomic_read(&sections) - before < 2; i++)
		wait();
}

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
