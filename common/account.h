/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The driver's own record of a call, the only one that the driver trusts. A
 * stage can change struct fib_call, but it cannot access what is declared
 * here.
 */
#ifndef FIBDRV_ACCOUNT_H
#define FIBDRV_ACCOUNT_H

#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

/* The kernel's headers replace freestanding.h, which only stages use. */
#define FIBDRV_FREESTANDING_H
#include "stage.h"

/**
 * struct fib_account - the driver's account of a call
 * @self: the address of this account, to detect a struct fib_call that a stage
 *	has made
 * @allocations: number of blocks allocated so far
 * @blocks: number of blocks not yet freed
 * @bytes: bytes in the blocks not yet freed
 * @peak_bytes: the maximum of @bytes so far
 * @call: the part that the stage gets
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
 * struct fib_block - the header before each block, also in the contract tests
 * @account: the account of the call that allocated the block
 * @not_bytes: the inverted size of the block, so that a 0 written there is
 *	detected
 *
 * The header has 16 bytes, so that the block keeps kmalloc's alignment.
 */
struct fib_block {
	struct fib_account *account;
	size_t not_bytes;
};

/* Every account must be initialised by this macro. */
#define FIB_ACCOUNT(name) { .self = &(name) }

/**
 * fib_account_agrees() - return true if the stage has not changed its counters
 */
bool fib_account_agrees(const struct fib_account *account);

#endif
