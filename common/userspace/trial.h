/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Failures on demand: what a program can ask of fib_alloc and fib_look_up.
 */
#ifndef FIBDRV_USER_TRIAL_H
#define FIBDRV_USER_TRIAL_H

#include "host.h"

/**
 * struct trial - what is to go wrong in the calls that follow
 * @fail_at: the allocation that fails, counted from 1; 0 for none
 * @kill_at: the look-up that finds the caller killed; 0 for none
 * @tell: say on stderr where that happens, with the stack if there is a checker
 * @impatient: look up from work at every fib_spend
 * @allocations: allocations asked for so far
 * @look_ups: look-ups so far
 * @taken: blocks taken since trial_begin
 * @blocks: of those, blocks not yet released
 * @bytes: bytes in them
 * @peak_bytes: the most that @bytes ever was
 * @get: where blocks come from; NULL for malloc
 * @put: takes a block back, and returns whether it came from @get
 */
struct trial {
	u64 fail_at;
	u64 kill_at;
	bool tell;
	bool impatient;
	u64 allocations;
	u64 look_ups;
	u64 taken;
	u64 blocks;
	u64 bytes;
	u64 peak_bytes;
	void *(*get)(size_t bytes);
	bool (*put)(void *block);
};

extern struct trial trial;

/* Begins a call, and counts anew. */
void trial_begin(struct fib_call *call);

#endif
