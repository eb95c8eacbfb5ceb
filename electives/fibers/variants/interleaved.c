// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Replaces table.c: force the order of two switches that exposes a race. Two
 * bits of the requested id choose the thread's role. A hardware breakpoint
 * stops the first thread after each access to the owner of the fiber that the
 * second thread requests. After one of the accesses at which this fiber has no
 * owner, the second thread, on another CPU, makes its whole switch; then the
 * first continues. It is the first such access, in the next call the second
 * one, and so on.
 *
 * If the second thread's id has an upper half, it switches to that fiber
 * instead, and must not have to wait for the first thread, which then stops
 * after one instruction of this module, another one in each call.
 *
 * With both bits, the second thread leaves the fiber that the first thread
 * requests. The first thread then stops after one of the instructions after
 * which the fiber has a third owner, not the second thread and not NULL. It is
 * stepped, because QEMU before 8.0 reports no breakpoint for an atomic
 * operation.
 */
#include <linux/atomic.h>
#include <linux/hw_breakpoint.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include <uapi/asm/debugreg.h>
#include <asm/processor-flags.h>

#include "table.h"

#define FIRST (1UL << 62)
#define SECOND (1UL << 63)
#define LEAVING (FIRST | SECOND)
/* The upper half of an id begins here; an id has 31 bits. */
#define UPPER 31
/*
 * The time limit of waiting for a CPU, and for the second switch, which needs
 * some milliseconds on an idle computer.
 */
#define CPU_NS (20 * NSEC_PER_SEC)

/* Accesses of a claim, or instructions, after which the first thread stops. */
#define MOST_STOPS 3
/* The number of parts of a switch; the thread stops once in each of them. */
#define MOST_STEPS 40

enum { NOTHING, READY, GO, ENTERED, DONE, FINISHED };
static atomic_t turn;
static struct fiber *watched;
/* The owner of the watched fiber if the second thread leaves it, or NULL. */
static struct thread *leaving;
static struct task_struct *first_thread;
static long second_result;
static unsigned int calls, to_skip;
/* The second switch waits for the first one, so one of them takes a lock. */
static bool waits;
/* The second switch is to another fiber than the first one. */
static bool apart;
/*
 * Then the first thread stops after one instruction of this module. Numbers of
 * such instructions: in this switch so far, in the last one, and where this one
 * stops.
 */
static unsigned int steps, all_steps, stop_at;

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

/* Let the second thread make its switch, unless it does so after a later call. */
static void stop(void)
{
	if (to_skip && to_skip--)
		return;
	if (atomic_cmpxchg(&turn, READY, GO) != READY)
		return;
	if (!reached_in_handler(ENTERED, CPU_NS))
		pr_err("BUG: the other thread does not get a CPU of its own\n");
	else
		waits = !reached_in_handler(DONE, CPU_NS);
}

static void on_access(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
	if (current == first_thread && !READ_ONCE(watched->owner))
		stop();
}

/*
 * Switch, with a breakpoint at the owner of the watched fiber. Return the
 * result of the switch.
 */
static long switch_with_breakpoint(struct table *table, unsigned long id)
{
	struct perf_event * __percpu * breakpoint;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.pinned = 1,
		.sample_period = 1,
		.bp_addr = (unsigned long)&watched->owner,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.bp_type = HW_BREAKPOINT_RW,
	};
	long done;

	breakpoint = register_wide_hw_breakpoint(&attr, on_access, NULL);
	if (IS_ERR_OR_NULL((__force void *)breakpoint))
		return -EOPNOTSUPP;
	done = fibers_switch(table, id);
	unregister_wide_hw_breakpoint(breakpoint);
	return done;
}

/*
 * A thread must not stop in functions of the kernel, because it may hold a lock
 * of the kernel there.
 */
static bool in_module(const struct pt_regs *regs)
{
	return within_module(regs->ip, THIS_MODULE);
}

static int on_step(struct notifier_block *block, unsigned long event,
		   void *data)
{
	struct die_args *args = data;
	unsigned long *reasons = ERR_PTR(args->err);
	const struct thread *owner;

	if (event != DIE_DEBUG || !(*reasons & DR_STEP))
		return NOTIFY_DONE;
	*reasons &= ~DR_STEP;
	owner = READ_ONCE(watched->owner);
	/* If the first thread sleeps, another thread gets its flag. */
	if (current != first_thread)
		args->regs->flags &= ~X86_EFLAGS_TF;
	else if (apart ? in_module(args->regs) && ++steps == stop_at :
			 owner && owner != leaving)
		stop();
	return NOTIFY_STOP;
}

/* Switch, with an exception after each instruction. */
static long switch_in_steps(struct table *table, unsigned long id)
{
	static struct notifier_block steps = { .notifier_call = on_step };
	long done = register_die_notifier(&steps);

	if (done)
		return done;
	asm volatile("pushfq; orl %0, (%%rsp); popfq"
		     :
		     : "i"(X86_EFLAGS_TF)
		     : "cc", "memory");
	done = fibers_switch(table, id);
	asm volatile("pushfq; andl %0, (%%rsp); popfq"
		     :
		     : "i"(~X86_EFLAGS_TF)
		     : "cc", "memory");
	unregister_die_notifier(&steps);
	return done;
}

static long first(struct table *table, unsigned long id)
{
	long done;

	if (!reached(READY))
		return -ETIME;
	first_thread = current;
	to_skip = apart ? 0 : calls % MOST_STOPS;
	stop_at = 1 + calls++ % MOST_STEPS * all_steps / MOST_STEPS;
	steps = 0;
	done = leaving || apart ? switch_in_steps(table, id) :
				  switch_with_breakpoint(table, id);
	all_steps = steps;
	atomic_cmpxchg(&turn, READY, GO);
	if (!reached(DONE))
		return -ETIME;
	if (!done && !second_result && !leaving && !apart &&
	    watched->id == id) {
		pr_err("BUG: two threads have switched to one fiber\n");
		send_sig(SIGKILL, current, 1);
	} else if (waits) {
		pr_err("BUG: a switch waits for another one; it must not take a lock\n");
		send_sig(SIGKILL, current, 1);
	}
	atomic_set(&turn, FINISHED);
	return done;
}

static long second(struct table *table, unsigned long id, struct fiber *fiber)
{
	watched = fiber;
	if (!watched)
		return -ESRCH;
	atomic_set(&turn, READY);
	if (!reached(GO))
		return -ETIME;
	atomic_set(&turn, ENTERED);
	second_result = fibers_switch(table, id);
	atomic_set(&turn, DONE);
	/*
	 * Do not run the next fiber, which could release the watched one, before
	 * the first thread has finished.
	 */
	reached(FINISHED);
	atomic_set(&turn, NOTHING);
	return second_result;
}

static long interleaved(struct table *table, unsigned long id)
{
	unsigned long role = id & LEAVING;
	struct thread *me = fibers_thread(table);

	id &= ~LEAVING;
	if (role == FIRST)
		return first(table, id);
	leaving = role == LEAVING ? me : NULL;
	if (leaving)
		return second(table, id, me->fiber);
	if (role == SECOND) {
		apart = id >> UPPER;
		return second(table, apart ? id >> UPPER : id,
			      xa_load(&table->fibers, id & INT_MAX));
	}
	return fibers_switch(table, id);
}

/*
 * Ids of fibers that are created one after the other differ by this number. Many
 * numbers divide it. So a module that has several locks, and chooses one by the
 * id, chooses the same one for both fibers.
 */
#define DISTANCE (256 * 9 * 25 * 7 * 11 * 13)

static long create_apart(struct table *table,
			 const struct fibers_create *wanted)
{
	long id = fibers_create(table, wanted);

	table->next += DISTANCE - 1;
	return id;
}

#define fibers_switch interleaved
/* A structure has the same name. */
#define fibers_create(table, wanted) create_apart(table, wanted)
#include "table.c"
