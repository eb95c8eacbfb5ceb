// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * What a call uses: memory, counted, and time, shared with others.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "stage.h"

/* Ahead of each block; 16 bytes, so that the block keeps kmalloc's alignment. */
struct fib_block {
	struct fib_call *call;
	size_t bytes;
};

void *fib_alloc(struct fib_call *call, size_t count, size_t size)
{
	struct fib_block *block = NULL;
	size_t bytes, total;

	/* No warning in the log: the caller is told, and that is enough. */
	if (!check_mul_overflow(count, size, &bytes) &&
	    !check_add_overflow(bytes, sizeof(*block), &total))
		block = kvmalloc(total, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!block) {
		call->error = -ENOMEM;
		return NULL;
	}
	block->call = call;
	block->bytes = bytes;
	call->allocations++;
	call->blocks++;
	call->bytes += bytes;
	if (call->peak_bytes < call->bytes)
		call->peak_bytes = call->bytes;
	return block + 1;
}

void fib_free(const void *pointer)
{
	const struct fib_block *block = pointer;

	if (!block)
		return;
	block--;
	block->call->blocks--;
	block->call->bytes -= block->bytes;
	kvfree(block);
}

int fib_look_up(struct fib_call *call)
{
	call->work = 0;
	cond_resched();
	if (!fatal_signal_pending(current))
		return 0;
	call->error = -EINTR;
	return -EINTR;
}
