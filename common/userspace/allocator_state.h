/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Failures on demand: what a program can ask of fib_alloc and fib_yield.
 */
#ifndef FIBDRV_USER_ALLOCATOR_STATE_H
#define FIBDRV_USER_ALLOCATOR_STATE_H

#include "host.h"

/**
 * struct allocator_state - what is to go wrong in the calls that follow
 * @fail_at: the allocation that fails, counted from 1; 0 for none
 * @kill_at: the yield that finds the caller killed; 0 for none
 * @tell: say on stderr where that happens, with the stack if there is a checker
 * @yield_always: yield at every fib_account_work
 * @allocations: allocations asked for so far
 * @yields: yields so far
 * @taken: blocks taken since begin_call
 * @blocks: of those, blocks not yet released
 * @bytes: bytes in them
 * @peak_bytes: the most that @bytes ever was
 * @get: where blocks come from; NULL for malloc
 * @put: takes a block back, and returns whether it came from @get
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
};

extern struct allocator_state allocator;

/* Begins a call, and counts anew. */
void begin_call(struct fib_call *call);

#endif
