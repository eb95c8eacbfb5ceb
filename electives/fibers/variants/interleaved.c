// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Replaces table.c: force the order of two switches that exposes a race. Two
 * bits of the requested id choose the thread's role. A hardware breakpoint
 * stops the first thread after each access to the owner of the fiber that the
 * second thread requests. After one of the accesses at which this fiber has no
 * owner, the second thread, on another CPU, makes its whole switch; then the
 * first continues. It is the first such access, in the next call the second
 * one, and so on. In further calls the first thread is stepped, stops after the
 * same instructions, and must not change the owner from then on, not even for
 * one instruction.
 *
 * With both bits, the second thread leaves the fiber that the first thread
 * requests. The first thread then stops after one of the instructions after
 * which the fiber has a third owner, not the second thread and not NULL. It is
 * stepped, because QEMU before 8.0 reports no breakpoint for an atomic
 * operation.
 *
 * In calls that delete the fiber, the first thread deletes instead of switching,
 * and is not stepped.
 *
 * In some calls with the first bit, the first thread is stepped, too, but does
 * not stop. It must change the owner from NULL by an instruction that is atomic
 * on all CPUs. Most instructions without the prefix lock are atomic on one CPU
 * only, so no stop shows the race. An earlier atomic instruction takes a lock.
 *
 * In all calls that are stepped, and in those with a third bit, which are only
 * stepped, the thread must release its old fiber by an operation that orders
 * earlier stores, and a switch that is refused may execute MOST_STEPS
 * instructions of the module, so that it cannot wait for the owner.
 * interleaved.h makes the operations that order stores visible.
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

#include "context.h"
#include "table.h"

#define FIRST (1UL << 62)
#define SECOND (1UL << 63)
#define LEAVING (FIRST | SECOND)
#define COUNTED (1UL << 61)
/*
 * The time limit of waiting for a CPU, and for the second switch, which needs
 * some milliseconds on an idle computer.
 */
#define CPU_NS (20 * NSEC_PER_SEC)

/* Accesses of a claim after which the first thread stops. */
#define MOST_STOPS 3
/*
 * Instructions of this module in a switch that is refused. The kit's needs at
 * most 100. The functions of the kernel that a switch may call never wait.
 */
#define MOST_STEPS 400

enum { NOTHING, READY, GO, ENTERED, DONE, FINISHED };
static atomic_t turn;
static struct fiber *watched;
/* The owner of the watched fiber if the second thread leaves it, or NULL. */
static struct thread *leaving;
/*
 * The second thread while it runs the watched fiber, or NULL. No other thread may
 * become the owner meanwhile, not even for one instruction.
 */
static const struct thread *holder;
static struct task_struct *first_thread;
static long second_result;
static unsigned int calls, to_skip;
/* The number of the current stop, and the instruction after each stop. */
static unsigned int stop_number;
static unsigned long stop_ip[MOST_STOPS];
/* The second switch waits for the first one, so one of them takes a lock. */
static bool waits;
/* The owner of the watched fiber, and the next instruction, at the last step. */
static const struct thread *last_owner;
static unsigned long last_ip;
/* The number of atomic instructions of the first thread's switch. */
static unsigned int atomics;
/* The owner changed from NULL by another than the first atomic instruction. */
static bool wrong_claim;
/* The number of instructions of this module in the first thread's switch. */
static unsigned int steps;
/* A switch that is refused has executed more than MOST_STEPS instructions. */
static bool too_long;
/* The fiber that the first thread leaves, and its owner at the last step. */
static struct fiber *released;
static const struct thread *last_releaser;
/* An instruction since the registers were saved orders earlier stores. */
static bool ordered;
/* The old fiber was released without an order. */
static bool wrong_release;
/* The first thread is stepped, and stops at stop_ip. */
static bool returns;
/* The first thread has changed the owner while the second ran the fiber. */
static bool taken;

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
	if (!waits && !second_result && returns)
		holder = READ_ONCE(watched->owner);
}

static void on_access(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
	if (current != first_thread || READ_ONCE(watched->owner))
		return;
	if (!to_skip && atomic_read(&turn) == READY)
		stop_ip[stop_number] = regs->ip;
	stop();
}

/*
 * Return whether an instruction changes memory, and is atomic on all CPUs. A
 * memory barrier is not counted: it adds 0 to a word of the stack.
 */
static bool is_atomic(unsigned long ip)
{
	/* The prefixes for segments, sizes and repetition. */
	static const u8 prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64,
				       0x65, 0x66, 0x67, 0xf2, 0xf3 };
	static const u8 barrier[] = { 0x83, 0x44, 0x24, 0xfc, 0x00 };
	const u8 *code = (const u8 *)ip;

	while (memchr(prefixes, *code, sizeof(prefixes)))
		code++;
	if (*code == 0xf0) /* lock */
		return memcmp(code + 1, barrier, sizeof(barrier));
	if (*code >> 4 == 4) /* REX */
		code++;
	/* xchg, but not of two registers */
	return (*code == 0x86 || *code == 0x87) && code[1] < 0xc0;
}

/* Return whether an instruction of this module orders earlier stores. */
static bool orders(unsigned long ip)
{
	const u8 *code = (const u8 *)ip;

	if (!within_module(ip, THIS_MODULE))
		return false;
	if (code[0] == 0x0f && code[1] == 0xae) /* mfence and sfence */
		return code[2] == 0xf0 || code[2] == 0xf8;
	return code[0] == 0xf0 || is_atomic(ip);
}

/* Look at the fiber that the first thread leaves. */
static void check_release(unsigned long ip)
{
	const struct thread *releaser = READ_ONCE(released->owner);

	if (last_ip && orders(last_ip))
		ordered = true;
	if (ip == (unsigned long)context_switch)
		ordered = false;
	if (last_releaser && !releaser && !ordered)
		wrong_release = true;
	last_releaser = releaser;
}

static int on_step(struct notifier_block *block, unsigned long event,
		   void *data)
{
	struct die_args *args = data;
	unsigned long *reasons = ERR_PTR(args->err);
	struct thread *owner;

	if (event != DIE_DEBUG || !(*reasons & DR_STEP))
		return NOTIFY_DONE;
	*reasons &= ~DR_STEP;
	owner = READ_ONCE(watched->owner);
	/* If the first thread sleeps, another thread gets its flag. */
	if (current != first_thread) {
		args->regs->flags &= ~X86_EFLAGS_TF;
		return NOTIFY_STOP;
	}
	steps += within_module(args->regs->ip, THIS_MODULE);
	check_release(args->regs->ip);
	if (holder) {
		taken |= owner != holder;
		last_ip = args->regs->ip;
		return NOTIFY_STOP;
	}
	atomics += last_ip && is_atomic(last_ip);
	if (returns && !owner && args->regs->ip == stop_ip[stop_number])
		stop();
	if (!last_owner && owner && (atomics != 1 || !is_atomic(last_ip)))
		wrong_claim = true;
	if (leaving && owner && owner != leaving)
		stop();
	last_ip = args->regs->ip;
	last_owner = READ_ONCE(watched->owner);
	return NOTIFY_STOP;
}

static struct notifier_block steps_block = { .notifier_call = on_step };

/* Let an exception follow each instruction of this thread, or no longer. */
static __always_inline void trap(bool on)
{
	unsigned long flags;

	asm volatile("pushfq; popq %0" : "=r"(flags));
	flags = on ? flags | X86_EFLAGS_TF : flags & ~X86_EFLAGS_TF;
	asm volatile("pushq %0; popfq" : : "r"(flags) : "cc", "memory");
}

/* Switch, with an exception after each instruction. */
static long switch_in_steps(struct table *table, unsigned long id)
{
	long done;

	last_owner = READ_ONCE(watched->owner);
	last_ip = atomics = steps = 0;
	released = fibers_thread(table)->fiber;
	last_releaser = READ_ONCE(released->owner);
	ordered = false;
	trap(true);
	done = fibers_switch(table, id);
	trap(false);
	too_long |= done && steps > MOST_STEPS;
	return done;
}

/* Switch or delete. */
typedef long request_fn(struct table *table, unsigned long id);

/* Make a request, with a breakpoint at the owner of the watched fiber. */
static long with_breakpoint(request_fn *request, struct table *table,
			    unsigned long id)
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
	done = request(table, id);
	unregister_wide_hw_breakpoint(breakpoint);
	return done;
}

static void fail(const char *problem)
{
	pr_err("BUG: %s\n", problem);
	send_sig(SIGKILL, current, 1);
}

/* End the process if a switch has broken a rule. */
static void check_switch(void)
{
	if (wrong_claim)
		fail("the owner must change from NULL by one instruction that is atomic on all CPUs, without a lock; use cmpxchg_acquire");
	else if (taken)
		fail("a thread loses its fiber for some instructions; take it only if it has no owner, in one step");
	else if (waits)
		fail("a switch waits for another one; it must not take a lock");
	else if (wrong_release)
		fail("the old fiber is released without an order of its stores; use smp_store_release");
	else if (too_long)
		fail("a switch that is refused takes too many instructions; return the error at once");
}

/* Only step the switch of a thread, while no other thread switches. */
static long counted(struct table *table, unsigned long id,
		    const struct thread *me)
{
	long done = register_die_notifier(&steps_block);

	if (done)
		return done;
	watched = xa_load(&table->fibers, id);
	if (!watched)
		watched = me->fiber;
	first_thread = current;
	holder = NULL;
	leaving = NULL;
	returns = false;
	done = switch_in_steps(table, id);
	unregister_die_notifier(&steps_block);
	check_switch();
	return done;
}

static long first(request_fn *request, struct table *table, unsigned long id)
{
	bool deletes = request == fibers_delete;
	unsigned int mode;
	long done;

	if (!reached(READY))
		return -ETIME;
	done = register_die_notifier(&steps_block);
	if (done)
		return done;
	holder = NULL;
	first_thread = current;
	mode = calls++ % (deletes ? MOST_STOPS : 2 * MOST_STOPS + 1);
	stop_number = to_skip = mode % MOST_STOPS;
	returns = !leaving && mode >= MOST_STOPS && mode < 2 * MOST_STOPS;
	if (returns)
		to_skip = 0;
	if (leaving || mode >= MOST_STOPS)
		done = switch_in_steps(table, id);
	else
		done = with_breakpoint(request, table, id);
	unregister_die_notifier(&steps_block);
	atomic_cmpxchg(&turn, READY, GO);
	if (!reached(DONE))
		return -ETIME;
	if (deletes && !done && !second_result)
		fail("a fiber is deleted while another thread runs it; take it first, as a switch does");
	else if (!done && !second_result && !leaving && watched->id == id)
		fail("two threads have switched to one fiber");
	else
		check_switch();
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
	if (id & COUNTED)
		return counted(table, id & ~COUNTED, me);
	if (role == FIRST)
		return first(fibers_switch, table, id);
	leaving = role == LEAVING ? me : NULL;
	if (leaving)
		return second(table, id, me->fiber);
	if (role == SECOND)
		return second(table, id, xa_load(&table->fibers, id));
	return fibers_switch(table, id);
}

static long interleaved_delete(struct table *table, unsigned long id)
{
	if (!(id & FIRST))
		return fibers_delete(table, id);
	leaving = NULL;
	return first(fibers_delete, table, id & ~FIRST);
}

#define fibers_switch interleaved
#define fibers_delete interleaved_delete
#include "table.c"
