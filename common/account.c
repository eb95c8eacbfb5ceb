// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Account for the memory of a call, and let other tasks run during long calls.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/container_of.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "account.h"

bool fib_account_agrees(const struct fib_account *account)
{
	const struct fib_call *call = &account->call;

	return call->allocations == account->allocations &&
	       call->blocks == account->blocks &&
	       call->bytes == account->bytes &&
	       call->peak_bytes == account->peak_bytes;
}

void *fib_alloc(struct fib_call *call, size_t count, size_t size)
{
	struct fib_account *account =
		container_of(call, struct fib_account, call);
	struct fib_block *block = NULL;
	size_t bytes, total;

	/*
	 * The caller gets -ENOMEM, so the kernel need not log a warning, too.
	 */
	if (account->self != account)
		pr_err_ratelimited(
			"%s is given a call that is not the driver's\n",
			__func__);
	else if (!check_mul_overflow(count, size, &bytes) &&
		 !check_add_overflow(bytes, sizeof(*block), &total))
		block = kvmalloc(total, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!block) {
		call->error = -ENOMEM;
		return NULL;
	}
	block->account = account;
	block->not_bytes = ~bytes;
	account->allocations++;
	account->blocks++;
	account->bytes += bytes;
	if (account->peak_bytes < account->bytes)
		account->peak_bytes = account->bytes;
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
	block->account->blocks--;
	block->account->bytes -= ~block->not_bytes;
	block->account->call.blocks--;
	block->account->call.bytes -= ~block->not_bytes;
	kvfree(block);
}

int fib_yield(struct fib_call *call)
{
	call->work = 0;
	cond_resched();
	if (!fatal_signal_pending(current))
		return 0;
	call->error = -EINTR;
	return -EINTR;
}
