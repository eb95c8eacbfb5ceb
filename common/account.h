/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The driver's own book on a call. What a stage sees is struct fib_call, which it
 * could change; what the driver goes by is here, under no name that it knows.
 */
#ifndef FIBDRV_ACCOUNT_H
#define FIBDRV_ACCOUNT_H

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

/* The kernel's headers stand for what a stage has instead. */
#define FIBDRV_FREESTANDING_H
#include "stage.h"

/**
 * struct fib_account - a call, and what the driver knows of it
 * @self: this very account: no call of the stage's own making has one
 * @allocations: blocks taken so far
 * @blocks: blocks not yet given back
 * @bytes: bytes in those
 * @peak_bytes: the most that @bytes ever was
 * @call: what the stage is given
 */
struct fib_account {
	const struct fib_account *self;
	u64 allocations;
	u64 blocks;
	u64 bytes;
	u64 peak_bytes;
	struct fib_call call;
};

/**
 * struct fib_block - what is ahead of each block, in the driver and in the contract tests alike
 * @account: the account of the call that the block belongs to
 * @not_bytes: the size of the block, inverted, so that a 0 written there is seen
 *
 * It has 16 bytes, so that the block keeps kmalloc's alignment.
 */
struct fib_block {
	struct fib_account *account;
	size_t not_bytes;
};

/* To be initialised by this. */
#define FIB_ACCOUNT(name) { .self = &(name) }

/**
 * fib_account_agrees() - whether the stage has left its account as it was kept
 */
bool fib_account_agrees(const struct fib_account *account);

#endif
