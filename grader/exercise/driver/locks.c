// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Check the locks of two callers. race.c cannot find a race between accesses by
 * READ_ONCE and WRITE_ONCE, but these do not replace a lock. Therefore all
 * callers must hold the same lock at every access to the notebook, and also at
 * every access to other memory that one of them writes, except its own stack. A
 * lock that a writer holds only for reading, as by down_read, does not count,
 * because other callers can hold it, too. This check does not depend on time. The
 * race detector Eraser introduced it (Savage et al., 1997). The order in which the
 * locks are taken is checked, too.
 *
 * enum lockset describes how strict the check is. With STRICT, a call of the
 * driver must access the notebook in one critical section. If it reads the
 * length in one section and the text in another one, the text may have become
 * shorter.
 *
 * A caller that sets the parameter "killed" to 1 is killed when it next waits for
 * a lock in a way that a signal can end. It must then leave the driver without
 * another access, and without releasing the lock. With 2 it is killed at the
 * beginning of its next call.
 *
 * The wrappers at the end report the locks; interposer.c has those of
 * mutex_lock and mutex_unlock. The checks are switched on by a parameter.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/spinlock.h>

#include "call_trace.h"
#define FIRST_KIT
#include "may_fault.h"

/* The maximum numbers of locks that all callers hold, and one of them. */
#define MOST_HELD 32
#define MOST_LOCKS 8
/* The maximum numbers of orders of two locks, and of variables. */
#define MOST_ORDERS 256
#define MOST_VARIABLES 8192
/* The maximum numbers of calls at a time, and of variables that one has read. */
#define MOST_CALLS 16
#define MOST_READ 8
/* The key of the notebook, which counts as one variable. */
#define NOTEBOOK 1ul
/* The key of an entry for a variable whose memory was freed. */
#define FORGOTTEN 2ul

/**
 * enum lockset - which accesses need a lock in common
 * @NONE: none
 * @WRITES: writes only; a bus lock protects atomic and marked writes, so they
 * 	need no other lock, unless other writes to the variable do
 * @ACCESSES: all accesses, except an atomic access outside the notebook; a single
 *	number that all functions access as an atomic64_t needs no lock
 * @STRICT: also an atomic read, and an atomic write of a caller with a lock
 */
enum lockset { NONE, WRITES, ACCESSES, STRICT };

/* As in race.c, no parameter has the address of its value. */
static int lockset;
/* The caller that is killed when it waits for a lock, or when it begins. */
static struct task_struct *killed;
static bool killed_early;
/* Whether programs can open the device. */
static bool has_begun;
/* Held during each atomic or marked write, for WRITES. */
static const char bus;

static int lockset_set(const char *value, const struct kernel_param *kp)
{
	int err = kstrtoint(value, 10, &lockset);

	report_step('=', "lockset", lockset, 0);
	/* Without the wrappers, it is not known which locks are held. */
	if (!IS_ENABLED(FIRST_LOCKS_WRAPPED))
		lockset = NONE;
	return err;
}

static const struct kernel_param_ops lockset_ops = { .set = lockset_set };
module_param_cb(lockset, &lockset_ops, NULL, 0200);
MODULE_PARM_DESC(lockset,
		 "the accesses that need a lock: 1 writes, 2 all, 3 strictly");

static int killed_set(const char *value, const struct kernel_param *kp)
{
	killed_early = *value == '2';
	WRITE_ONCE(killed, *value == '0' ? NULL : current);
	return 0;
}

static const struct kernel_param_ops killed_ops = { .set = killed_set };
module_param_cb(killed, &killed_ops, NULL, 0200);
MODULE_PARM_DESC(
	killed,
	"kill the writing task when it waits for a lock: 1, or when it begins: 2; 0: do not");

/* Kill the current task if it has asked for that. Return -EINTR if so. */
static int kill_asked(bool early)
{
	if (READ_ONCE(killed) != current || killed_early != early)
		return 0;
	WRITE_ONCE(killed, NULL);
	send_sig(SIGKILL, current, 1);
	return -EINTR;
}

/* Return -EINTR if the current task is killed while it waits for a lock. */
static int __maybe_unused is_killed(void)
{
	return kill_asked(false);
}

/*
 * Interrupt one of the client's two callers by the signal for which it has a
 * handler, unless it blocks this signal. Return -EINTR if that was done.
 */
static int __maybe_unused is_interrupted(void)
{
	int err = is_killed();

	if (err || !READ_ONCE(lockset) || get_nr_threads(current) < 2 ||
	    sigismember(&current->blocked, SIGUSR1) || !race_chosen())
		return err;
	send_sig(SIGUSR1, current, 1);
	return -EINTR;
}

/* The locks that callers hold, and whether others can hold them, too. */
static struct held {
	struct task_struct *task;
	const void *lock;
	bool shared;
} held[MOST_HELD];
/* Pairs of locks: the second was taken while the first was held. */
static const void *orders[MOST_ORDERS][2];
static bool order_reported;

/* Note the order of two locks. Return whether they have the other order, too. */
static bool is_reversed(const void *first, const void *second)
{
	bool reversed = false;

	if (first == second)
		return false;
	for (int i = 0; i < MOST_ORDERS; i++) {
		const void **order = orders[i];

		if (!order[0]) {
			order[0] = first;
			order[1] = second;
		}
		reversed |= order[0] == second && order[1] == first;
		if (order[0] == first && order[1] == second)
			return reversed;
	}
	report_full("full_orders", MOST_ORDERS);
	return reversed;
}

/* Return whether an address is in the driver's memory. */
static bool is_own(unsigned long address)
{
	return within_module(address, THIS_MODULE) || is_in_block(address);
}

/*
 * Return the lock, or the task if the lock is not the driver's own. A lock in
 * an inode, for example, excludes only callers that use the same inode, so it
 * counts as a lock of this caller only.
 */
static const void *excluding(const void *lock)
{
	return is_own((unsigned long)lock) ? lock : current;
}

void locks_taken(const void *lock, bool shared)
{
	struct held *free = NULL;
	bool reversed = false, twice = false;
	unsigned long flags;

	if (!READ_ONCE(lockset) || lock == &kit_lock)
		return;
	flags = kit_enter();
	lock = excluding(lock);
	for (int i = 0; i < MOST_HELD; i++) {
		if (!held[i].task)
			free = &held[i];
		else if (held[i].task == current)
			reversed |= is_reversed(held[i].lock, lock);
		else if (held[i].lock == lock)
			twice |= !(held[i].shared && shared);
	}
	if (free)
		*free = (struct held){ current, lock, shared };
	else
		report_full("full_locks", MOST_HELD);
	reversed = reversed && !order_reported;
	order_reported |= reversed;
	kit_leave(flags);
	if (twice)
		pr_err("BUG: two callers hold the same lock, so the driver has changed it\n");
	if (!reversed)
		return;
	pr_err("BUG: two locks are taken in two orders, so two callers can wait for each other\n");
	dump_stack();
}

/* Return whether the current task holds a lock that protects its access. */
static bool protects(const struct held *one, bool write)
{
	return one->task == current && !(write && one->shared);
}

static bool holds(const void *lock, bool write)
{
	for (int i = 0; i < MOST_HELD; i++)
		if (protects(&held[i], write) && held[i].lock == lock)
			return true;
	return false;
}

static bool holds_any(bool write)
{
	for (int i = 0; i < MOST_HELD; i++)
		if (protects(&held[i], write))
			return true;
	return false;
}

/**
 * struct driver_call - a call of the driver
 * @task: the caller; NULL if the entry is free
 * @depth: the number of the driver's functions that the call is in
 * @read: the variables that were read under a lock, and not written after that
 * @more: whether there were more such variables than @read can hold
 * @notebook: whether the notebook was accessed under a lock
 * @ended: whether a critical section with such accesses has ended
 * @from: the first of the caller's bytes that the last copy has read
 * @size: the number of these bytes
 */
static struct driver_call {
	struct task_struct *task;
	int depth;
	unsigned long from;
	size_t size;
	unsigned long read[MOST_READ];
	bool more;
	bool notebook;
	bool ended;
} driver_calls[MOST_CALLS];
static bool second_section_reported;

/* Return the current call. Begin a call if there is none and @begin is true. */
static struct driver_call *driver_call(bool begin)
{
	struct driver_call *free = NULL;

	for (int i = 0; i < MOST_CALLS; i++) {
		if (driver_calls[i].task == current)
			return &driver_calls[i];
		if (!driver_calls[i].task)
			free = &driver_calls[i];
	}
	if (begin && free)
		*free = (struct driver_call){ current };
	return begin ? free : NULL;
}

/* Report a second read of the same bytes: the caller may have changed them. */
void locks_copied(unsigned long from, size_t size)
{
	struct driver_call *call;
	unsigned long flags;
	bool twice = false;

	if (READ_ONCE(lockset) != STRICT)
		return;
	flags = kit_enter();
	call = driver_call(false);
	if (call) {
		twice = from < call->from + call->size &&
			call->from < from + size;
		call->from = from;
		call->size = size;
	}
	kit_leave(flags);
	if (!twice)
		return;
	pr_err("BUG: a call copies the same bytes of its caller twice, which can have changed between; copy them once\n");
	dump_stack();
}

void locks_begin(void)
{
	WRITE_ONCE(has_begun, true);
}

void locks_end(void)
{
	if (holds_any(false)) {
		pr_err("BUG: the device is removed while a lock is held, for which another caller can wait\n");
		dump_stack();
	}
}

void locks_enter(void)
{
	struct driver_call *call;
	unsigned long flags;

	kill_asked(true);
	if (READ_ONCE(lockset) != STRICT)
		return;
	flags = kit_enter();
	call = driver_call(true);
	if (call)
		call->depth++;
	kit_leave(flags);
}

void locks_leave(void)
{
	struct driver_call *call;
	unsigned long flags;

	if (READ_ONCE(lockset) != STRICT)
		return;
	flags = kit_enter();
	call = driver_call(false);
	if (call && !--call->depth)
		call->task = NULL;
	kit_leave(flags);
}

/*
 * Note an access under a lock. Return whether it is to the notebook, and another
 * critical section of this call has accessed the notebook or only read a
 * variable, as the length. A counter is read and written.
 */
static bool is_second_section(unsigned long address, bool write)
{
	struct driver_call *call = driver_call(false);
	unsigned long *slot = NULL;

	if (!call)
		return false;
	if (is_notebook(address)) {
		call->notebook = true;
		return call->ended;
	}
	for (int i = 0; i < MOST_READ; i++) {
		if (call->read[i] == address)
			slot = &call->read[i];
		else if (!call->read[i] && !write && !slot)
			slot = &call->read[i];
	}
	if (slot)
		*slot = write ? 0 : address;
	else
		call->more |= !write;
	return false;
}

static void end_section(void)
{
	struct driver_call *call = driver_call(false);

	if (!call)
		return;
	call->ended |= call->notebook || call->more;
	for (int i = 0; i < MOST_READ; i++)
		call->ended |= call->read[i] != 0;
}

void locks_released(const void *lock)
{
	unsigned long flags;
	bool found = false;

	if (!READ_ONCE(lockset) || lock == &kit_lock)
		return;
	flags = kit_enter();
	lock = excluding(lock);
	for (int i = 0; i < MOST_HELD && !found; i++) {
		found = held[i].task == current && held[i].lock == lock;
		if (found)
			held[i].task = NULL;
	}
	if (!holds_any(false))
		end_section();
	kit_leave(flags);
	if (found)
		return;
	pr_err("BUG: a lock is released by a caller that does not hold it\n");
	dump_stack();
}

/**
 * struct variable - a variable of the driver, and the locks that protect it
 * @key: its address, rounded down to 8 bytes, or NOTEBOOK; 0 if the entry is
 *	free, or FORGOTTEN
 * @task: the only task that has accessed the variable; NULL if there are more
 * @locks: the locks that have protected all accesses since then
 * @checked: whether it is the driver's own memory. Other memory may be used for
 *	several purposes, one after the other, such as a page for an attribute's
 *	text. So it needs a lock only if one of its accesses has a lock.
 * @written: whether one of these accesses is a write
 * @reported: whether a missing lock was printed
 * @bare_writes: whether the access at @bare is a write
 * @bare: the address of the access that left no lock in @locks
 * @other: the address of another access, a write with a lock if there is one
 */
static struct variable {
	unsigned long key;
	struct task_struct *task;
	const void *locks[MOST_LOCKS];
	bool checked;
	bool written;
	bool reported;
	bool bare_writes;
	void *bare;
	void *other;
} variables[MOST_VARIABLES]; /* a hash table with linear probing */

/* Remove the locks that do not protect this access. Count the rest. */
static int keep_held(struct variable *variable, bool write, bool on_bus)
{
	int kept = 0;

	for (int i = 0; i < MOST_LOCKS; i++) {
		if (!(on_bus && variable->locks[i] == &bus) &&
		    !holds(variable->locks[i], write))
			variable->locks[i] = NULL;
		kept += variable->locks[i] != NULL;
	}
	return kept;
}

static void begin_sharing(struct variable *variable, bool on_bus)
{
	int count = 0;

	variable->task = NULL;
	if (on_bus)
		variable->locks[count++] = &bus;
	for (int i = 0; i < MOST_HELD; i++) {
		if (held[i].task != current)
			continue;
		if (count < MOST_LOCKS)
			variable->locks[count++] = held[i].lock;
		else
			report_full("full_locks", MOST_LOCKS);
	}
}

/* Return the entry with a key, or the entry for a new one; NULL if all are used. */
static struct variable *find_variable(unsigned long key)
{
	struct variable *reusable = NULL;
	u32 i = hash_long(key, ilog2(MOST_VARIABLES));

	for (int n = 0; n < MOST_VARIABLES; n++, i++) {
		struct variable *one = &variables[i % MOST_VARIABLES];

		if (one->key == key)
			return one;
		if (!one->key)
			return reusable ?: one;
		if (one->key == FORGOTTEN && !reusable)
			reusable = one;
	}
	return reusable;
}

static struct variable *variable_at(unsigned long address)
{
	unsigned long key = address & ~7ul;
	struct variable *variable;

	if (is_notebook(address))
		key = NOTEBOOK;
	else if (object_is_on_stack((void *)address))
		return NULL;
	variable = find_variable(key);
	if (!variable)
		report_full("full_variables", MOST_VARIABLES);
	else if (variable->key != key)
		*variable = (struct variable){ key, current,
					       .checked = is_own(address) };
	return variable;
}

void locks_forget(unsigned long begin, size_t size)
{
	int kept = 0;

	for (unsigned long key = begin & ~7ul; key < begin + size; key += 8) {
		struct variable *variable = find_variable(key);

		if (variable && variable->key == key)
			variable->key = FORGOTTEN;
	}
	for (int i = 0; i < MOST_ORDERS && orders[i][0]; i++) {
		const void *first = orders[i][0], *second = orders[i][1];

		orders[i][0] = NULL;
		if ((unsigned long)first - begin < size ||
		    (unsigned long)second - begin < size)
			continue;
		orders[kept][0] = first;
		orders[kept++][1] = second;
	}
}

/*
 * Return whether another caller could access the same memory now. The process
 * of each of the client's two callers has several threads; files are opened and
 * closed by a process with only one thread. But another process can use the
 * notebook as soon as init has made the device and until exit begins, so a
 * driver that takes the lock only if its caller has threads is wrong.
 */
static bool is_open_to_all(unsigned long address)
{
	return is_notebook(address) && READ_ONCE(has_begun) &&
	       THIS_MODULE->state != MODULE_STATE_GOING;
}

/*
 * The kernel releases the files of a process that ends, and no other caller can
 * use them then.
 */
static bool is_shared(unsigned long address)
{
	return (get_nr_threads(current) > 1 &&
		!(current->flags & PF_EXITING)) ||
	       is_open_to_all(address);
}

/**
 * struct atomic_access - an access by an atomic function that needs no lock
 * @task: the caller; NULL if the entry is free
 * @address: the address of the variable
 */
static struct atomic_access {
	struct task_struct *task;
	unsigned long address;
} atomic_accesses[MOST_CALLS];

static void note_atomic(unsigned long address)
{
	unsigned long flags = kit_enter();
	struct atomic_access *entry = NULL;

	for (int i = 0; i < MOST_CALLS; i++)
		if (atomic_accesses[i].task == current ||
		    (!atomic_accesses[i].task && !entry))
			entry = &atomic_accesses[i];
	if (entry)
		*entry = (struct atomic_access){ current, address };
	kit_leave(flags);
}

/*
 * Forget the atomic access of the current task. Return whether it was to this
 * address. The functions atomic_read and atomic_set access the variable by
 * READ_ONCE and WRITE_ONCE, so the compiler reports their access a second time,
 * as the task's next one.
 */
static bool was_atomic(unsigned long address)
{
	bool same = false;

	for (int i = 0; i < MOST_CALLS; i++) {
		if (atomic_accesses[i].task != current)
			continue;
		same = atomic_accesses[i].address == address;
		atomic_accesses[i].task = NULL;
	}
	return same;
}

/* Print the first access to each variable that has no lock in common. */
void locks_access(unsigned long address, bool write, bool marked, void *place)
{
	bool on_bus = marked && READ_ONCE(lockset) == WRITES;
	struct variable *variable, found = { 0 };
	bool second = false;
	unsigned long flags;
	int kept;

	if (!READ_ONCE(lockset) || !is_shared(address) ||
	    (READ_ONCE(lockset) == WRITES && !write))
		return;
	flags = kit_enter();
	if (was_atomic(address) && marked)
		goto unlock;
	if (READ_ONCE(lockset) == STRICT && holds_any(write))
		second = is_second_section(address, write);
	second = second && !second_section_reported;
	second_section_reported |= second;
	variable = variable_at(address);
	if (!variable ||
	    (variable->task == current && !is_open_to_all(address)))
		goto unlock;
	if (variable->task)
		begin_sharing(variable, on_bus);
	variable->checked |= holds_any(false);
	kept = keep_held(variable, write, on_bus);
	variable->written |= write;
	if (!kept && !variable->bare) {
		variable->bare = place;
		variable->bare_writes = write;
	} else if ((write && holds_any(true)) || !variable->other) {
		variable->other = place;
	}
	if (variable->bare && variable->other && variable->written &&
	    variable->checked && !variable->reported) {
		variable->reported = true;
		found = *variable;
	}
unlock:
	kit_leave(flags);
	if (second) {
		pr_err("BUG: the lock is released between two accesses to the notebook; hold it from the first one to the last\n");
		dump_stack();
	}
	if (found.bare)
		print_race(found.bare, found.bare_writes, found.other, address);
}

/* may_fault.h calls this for an atomic access. See enum lockset. */
void first_atomic(const volatile void *address, bool write)
{
	bool checked = is_notebook((unsigned long)address);

	race_wait_atomic();
	if (READ_ONCE(lockset) == STRICT)
		checked |= !write || holds_any(write);
	else
		checked |= READ_ONCE(lockset) == WRITES;
	if (checked)
		locks_access((unsigned long)address, write, true,
			     __builtin_return_address(0));
	else if (READ_ONCE(lockset))
		note_atomic((unsigned long)address);
}

#ifdef FIRST_LOCKS_WRAPPED
#define TAKE(name, type, shared)           \
	void __real_##name(type *lock);    \
	void __wrap_##name(type *lock);    \
	void __wrap_##name(type *lock)     \
	{                                  \
		__real_##name(lock);       \
		locks_taken(lock, shared); \
	}

#define TAKE_FLAGS(name, type, shared)                     \
	unsigned long __real_##name(type *lock);           \
	unsigned long __wrap_##name(type *lock);           \
	unsigned long __wrap_##name(type *lock)            \
	{                                                  \
		unsigned long flags = __real_##name(lock); \
                                                           \
		locks_taken(lock, shared);                 \
		return flags;                              \
	}

/* A signal for which @ends returns an error ends the wait for this lock. */
#define TAKE_UNLESS(ends, name, type, shared)      \
	int __real_##name(type *lock);             \
	int __wrap_##name(type *lock);             \
	int __wrap_##name(type *lock)              \
	{                                          \
		int ret = ends();                  \
                                                   \
		if (!ret)                          \
			ret = __real_##name(lock); \
		if (!ret)                          \
			locks_taken(lock, shared); \
		return ret;                        \
	}

/*
 * Let the other caller act after the release of a lock of the driver. The
 * grader's own lock is released at each access, so do not wait after that.
 */
static void wait_after_release(const void *lock)
{
	if (lock != &kit_lock)
		race_wait();
}

#define RELEASE(name, type)               \
	void __real_##name(type *lock);   \
	void __wrap_##name(type *lock);   \
	void __wrap_##name(type *lock)    \
	{                                 \
		locks_released(lock);     \
		__real_##name(lock);      \
		wait_after_release(lock); \
	}

#define RELEASE_FLAGS(name, type)                            \
	void __real_##name(type *lock, unsigned long flags); \
	void __wrap_##name(type *lock, unsigned long flags); \
	void __wrap_##name(type *lock, unsigned long flags)  \
	{                                                    \
		locks_released(lock);                        \
		__real_##name(lock, flags);                  \
		wait_after_release(lock);                    \
	}

#define SPINNING(kind, type, shared)                         \
	TAKE(_raw_##kind##_lock, type, shared)               \
	TAKE(_raw_##kind##_lock_bh, type, shared)            \
	TAKE(_raw_##kind##_lock_irq, type, shared)           \
	TAKE_FLAGS(_raw_##kind##_lock_irqsave, type, shared) \
	RELEASE(_raw_##kind##_unlock, type)                  \
	RELEASE(_raw_##kind##_unlock_bh, type)               \
	RELEASE(_raw_##kind##_unlock_irq, type)              \
	RELEASE_FLAGS(_raw_##kind##_unlock_irqrestore, type)

TAKE_UNLESS(is_interrupted, mutex_lock_interruptible, struct mutex, false)
TAKE_UNLESS(is_killed, mutex_lock_killable, struct mutex, false)

TAKE(down_read, struct rw_semaphore, true)
TAKE(down_write, struct rw_semaphore, false)
TAKE_UNLESS(is_interrupted, down_read_interruptible, struct rw_semaphore, true)
TAKE_UNLESS(is_killed, down_read_killable, struct rw_semaphore, true)
TAKE_UNLESS(is_killed, down_write_killable, struct rw_semaphore, false)
RELEASE(up_read, struct rw_semaphore)
RELEASE(up_write, struct rw_semaphore)

SPINNING(spin, raw_spinlock_t, false)
SPINNING(read, rwlock_t, true)
SPINNING(write, rwlock_t, false)

#endif
