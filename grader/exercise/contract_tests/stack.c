// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Measure how many bytes of the stack a call takes.
 */
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/sched/task_stack.h>

#include "one_call.h"

#define PAINT 0x5ac3f00d5ac3f00dUL

static struct outcome stack_outcome;

static noinline void call_below(u64 n, const struct room *room)
{
	struct contract_call t = {
		.fill = FILL,
		.arena = true,
		.yield_always = true,
	};

	preempt_disable();
	stack_outcome = one_call(&t, n, room, "on a painted stack");
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

size_t stack_used(u64 n, const struct room *room, struct outcome want)
{
	size_t bytes = painted(n, room);

	check_same(stack_outcome, want, "on a painted stack");
	return bytes;
}
