/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Choose which calls of fib_alloc and fib_yield fail in a program.
 */
#ifndef FIBDRV_USER_ALLOCATOR_STATE_H
#define FIBDRV_USER_ALLOCATOR_STATE_H

#include "host.h"

/**
 * struct allocator_state - the failures and the counters of the calls that
 * follow
 * @fail_at: the allocation that fails, counted from 1; 0 for none
 * @kill_at: the yield that finds the caller killed; 0 for none
 * @tell: print the failure to stderr, with the stack if there is a checker
 * @yield_always: yield at every fib_account_work
 * @allocations: number of allocations requested so far
 * @yields: number of yields so far
 * @taken: number of blocks allocated since begin_call
 * @blocks: number of these blocks that are not yet freed
 * @bytes: bytes in the blocks not yet freed
 * @peak_bytes: the maximum of @bytes so far
 * @get: allocates a block; NULL for malloc
 * @put: frees a block; returns false if the block is not from @get
 * @announced: limb products passed to fib_account_work since begin_call, if
 *	every fib_account_work yields
 * @fails: returns whether the allocation (-ENOMEM) or the yield (-EINTR) that
 *	is requested now fails; NULL for none
 */
struct allocator_state {
	u64 fail_at;
	u64 kill_at;
	bool tell;
	bool yield_always;
	u64 allocations;
	u64 yields;
	u64 taken;
	u64 blocks;
	u64 bytes;
	u64 peak_bytes;
	void *(*get)(size_t bytes);
	bool (*put)(void *block);
	u64 announced;
	bool (*fails)(int error);
};

extern struct allocator_state allocator;

/* Begin a call, and reset all counters. */
void begin_call(struct fib_call *call);

/*
 * Print the stack that allocated the oldest block not yet freed, except @blocks
 * older ones, innermost function first, as " FUNCTION FILE:LINE" for each. Only
 * with ASan.
 */
void print_leak(u64 blocks);

/* Print the functions of these return addresses in the same way. */
void print_frames(void *const *frames, size_t depth);

#endif
