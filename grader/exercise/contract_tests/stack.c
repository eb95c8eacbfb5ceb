// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Measure how many bytes of the stack a call takes.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/preempt.h>
#include <linux/sched/task_stack.h>

#include "one_call.h"

#define PAINT 0x5ac3f00d5ac3f00dUL
/* How many calls are killed in compute, for each n. */
#define KILLS 3

static struct contract_call stack_call;
static struct outcome stack_outcome;

static noinline void call_below(u64 n, const struct room *room)
{
	preempt_disable();
	stack_outcome = one_call(&stack_call, n, room, "on a painted stack");
	preempt_enable();
}

/*
 * Fill the free part of the stack with a pattern, make a call, and return the
 * bytes that were overwritten. Blocks come from the arena and preemption is
 * off, so only the stage and interrupts use the stack.
 */
static noinline size_t painted(u64 n, const struct room *room)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	unsigned long *low = end_of_stack(current) + 16;
	unsigned long *top = (unsigned long *)(here - 512);
	unsigned long *p;

	for (p = low; p < top; p++)
		WRITE_ONCE(*p, PAINT);
	call_below(n, room);
	for (p = low; p < top && READ_ONCE(*p) == PAINT; p++)
		;
	return here - (unsigned long)p;
}

/* Return a random one of the numbers from @before + 1 to @last, or 0 if there is none. */
static u64 one_of(u64 before, u64 last, u64 *state)
{
	u64 count = last - before, chance = test_random(state) >> 16;

	return count ? before + 1 + chance - count * div64_u64(chance, count) :
		       0;
}

size_t stack_used(u64 n, const struct room *room, struct outcome want)
{
	const struct contract_call plain = {
		.fill = FILL,
		.arena = true,
		.yield_always = true,
	};
	u64 state = contract_seed + n;
	u64 fail_at = one_of(0, want.asked, &state);
	u64 converting = one_of(want.yields_computing, want.yields, &state);
	size_t bytes;

	stack_call = plain;
	bytes = painted(n, room);
	check_same(stack_outcome, want, "on a painted stack");
	stack_call = plain;
	stack_call.room = want.result - 1;
	if (want.result > 1)
		bytes = max(bytes, painted(n, room));
	stack_call = plain;
	stack_call.fail_at = fail_at;
	if (fail_at)
		bytes = max(bytes, painted(n, room));
	for (int i = 0; i < KILLS && want.yields_computing; i++) {
		stack_call = plain;
		stack_call.kill_at = one_of(0, want.yields_computing, &state);
		bytes = max(bytes, painted(n, room));
	}
	stack_call = plain;
	stack_call.kill_at = converting;
	if (converting)
		bytes = max(bytes, painted(n, room));
	return bytes;
}
