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
/* How many calls are killed in compute, for each n: one at the last yield. */
#define KILLS 3

static struct contract_call stack_call;
static struct outcome stack_outcome;

static noinline void call_below(u64 n, const struct room *room,
				const char *when)
{
	preempt_disable();
	stack_outcome = one_call(&stack_call, n, room, when);
	preempt_enable();
}

/*
 * Fill the free part of the stack with a pattern, make a call, and return the
 * bytes that were overwritten. Blocks come from the arena and preemption is
 * off, so only the stage and interrupts use the stack.
 */
static noinline size_t painted(u64 n, const struct room *room, const char *when)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	unsigned long *low = end_of_stack(current) + 16;
	unsigned long *top = (unsigned long *)(here - 512);
	unsigned long *p;

	for (p = low; p < top; p++)
		WRITE_ONCE(*p, PAINT);
	call_below(n, room, when);
	for (p = low; p < top && READ_ONCE(*p) == PAINT; p++)
		;
	return here - (unsigned long)p;
}

static const struct contract_call plain = {
	.fill = FILL,
	.arena = true,
	.yield_always = true,
};

/*
 * Return the bytes of stack that a call takes in which a random one of the places
 * from @before + 1 to @last fails; 0 if there is no such place.
 */
static size_t painted_failure(u64 n, const struct room *room, bool kills,
			      u64 before, u64 last, u64 *state)
{
	const char *what = kills ? KILLED : FAILED;
	u64 count = last - before, chance = test_random(state) >> 16, place;
	char when[64];
	size_t bytes;

	if (!count || contract_wrong())
		return 0;
	place = before + 1 + chance - count * div64_u64(chance, count);
	stack_call = plain;
	*(kills ? &stack_call.kill_at : &stack_call.fail_at) = place;
	snprintf(when, sizeof(when), "%s %llu of %llu", what, place, last);
	during(n, what, place, last);
	bytes = painted(n, room, when);
	during(n, NULL, 0, 0);
	return bytes;
}

size_t stack_used(u64 n, const struct room *room, struct outcome want)
{
	const char *when = "on a painted stack";
	u64 state = contract_seed + n, last = want.yields_computing;
	size_t bytes;

	stack_call = plain;
	bytes = painted(n, room, when);
	check_same(stack_outcome, want, when);
	stack_call = plain;
	stack_call.room = want.result - 1;
	if (want.result > 1)
		bytes = max(bytes, painted(n, room, "without room"));
	bytes = max(bytes,
		    painted_failure(n, room, false, 0, want.asked, &state));
	for (int i = 0; i < KILLS; i++)
		bytes = max(bytes, painted_failure(n, room, true,
						   i || !last ? 0 : last - 1,
						   last, &state));
	return max(bytes,
		   painted_failure(n, room, true, last, want.yields, &state));
}
