// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Replaces table.c: force the order of two switches that exposes a race. Two
 * bits of the requested id choose the thread's role. A hardware breakpoint
 * stops the first thread after each access to the owner of the fiber that the
 * second thread requests. After one of the accesses at which this fiber has no
 * owner, the second thread, on another CPU, makes its whole switch; then the
 * first continues. It is the first such access, in the next call the second
 * one, and so on.
 */
#include <linux/atomic.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "table.h"

#define FIRST (1UL << 62)
#define SECOND (1UL << 63)
/*
 * The time limits of waiting for a CPU, and for a thread that may wait for a
 * lock.
 */
#define CPU_NS (20 * NSEC_PER_SEC)
#define LOCK_NS (200 * NSEC_PER_MSEC)

/* Accesses of a claim that may see no owner. */
#define MOST_ACCESSES 3

enum { NOTHING, READY, GO, ENTERED, DONE, FINISHED };
static atomic_t turn;
static struct fiber *requested;
static struct task_struct *first_thread;
static long second_result;
static unsigned int calls, to_skip;

/* Wait without sleeping, as the handler of a breakpoint must. */
static bool reached_in_handler(int wanted, u64 ns)
{
	u64 end = ktime_get_mono_fast_ns() + ns;

	while (atomic_read(&turn) < wanted)
		if (ktime_get_mono_fast_ns() > end)
			return false;
	return true;
}

/*
 * Wait in a system call. Registering a breakpoint on all CPUs waits for an RCU
 * grace period, which cannot end while a thread loops in the kernel without
 * cond_resched().
 */
static bool reached(int wanted)
{
	u64 end = ktime_get_mono_fast_ns() + CPU_NS;

	while (atomic_read(&turn) < wanted) {
		if (ktime_get_mono_fast_ns() > end || signal_pending(current))
			return false;
		cond_resched();
	}
	return true;
}

static void on_access(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
	if (current != first_thread || READ_ONCE(requested->owner))
		return;
	if (to_skip && to_skip--)
		return;
	if (atomic_cmpxchg(&turn, READY, GO) != READY)
		return;
	if (!reached_in_handler(ENTERED, CPU_NS))
		pr_err("BUG: the other thread does not get a CPU of its own\n");
	else
		reached_in_handler(DONE, LOCK_NS);
}

static long first(struct table *table, unsigned long id)
{
	struct perf_event * __percpu * breakpoint;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.pinned = 1,
		.sample_period = 1,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.bp_type = HW_BREAKPOINT_RW,
	};
	long done;

	if (!reached(READY))
		return -ETIME;
	attr.bp_addr = (unsigned long)&requested->owner;
	first_thread = current;
	to_skip = calls++ % MOST_ACCESSES;
	breakpoint = register_wide_hw_breakpoint(&attr, on_access, NULL);
	if (IS_ERR_OR_NULL((__force void *)breakpoint))
		return -EOPNOTSUPP;
	done = fibers_switch(table, id);
	unregister_wide_hw_breakpoint(breakpoint);
	atomic_cmpxchg(&turn, READY, GO);
	if (!reached(DONE))
		return -ETIME;
	if (!done && !second_result && requested->id == id) {
		pr_err("BUG: two threads have switched to one fiber\n");
		send_sig(SIGKILL, current, 1);
	}
	atomic_set(&turn, FINISHED);
	return done;
}

static long second(struct table *table, unsigned long id)
{
	requested = xa_load(&table->fibers, id);
	if (!requested)
		return -ESRCH;
	atomic_set(&turn, READY);
	if (!reached(GO))
		return -ETIME;
	atomic_set(&turn, ENTERED);
	second_result = fibers_switch(table, id);
	atomic_set(&turn, DONE);
	/*
	 * Do not run the fiber, which would release it, before the first thread
	 * has finished.
	 */
	reached(FINISHED);
	atomic_set(&turn, NOTHING);
	return second_result;
}

static long interleaved(struct table *table, unsigned long id)
{
	if (id & FIRST)
		return first(table, id & ~FIRST);
	if (id & SECOND)
		return second(table, id & ~SECOND);
	return fibers_switch(table, id);
}

#define fibers_switch interleaved
#include "table.c"
