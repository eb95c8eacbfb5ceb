// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implement fib_alloc, fib_free and fib_yield with checks. New blocks hold a
 * fill pattern, guard bytes surround each block, and only a block in use may be
 * freed.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "arena.h"
#include "contract_tests.h"

#define FREED_BYTE 0x6b
/*
 * A frozen number is hashed at most FROZEN_CHECKS times, and less often if the
 * hashes would cover more than FROZEN_BYTES in all, because hashing a long
 * number takes about as long as a step of the work.
 */
#define FROZEN_CHECKS 40
#define FROZEN_BYTES (4 << 20)
/* Calls that hold this many bytes use the arena, see contract_map_once(). */
#define MAPPED_ONCE (1 << 20)

struct block {
	struct list_head list;
	struct contract_call *owner;
	size_t bytes;
	size_t total;
	u64 frozen; /* hash of the content; 0 if the stage may change it */
} __aligned(16);

/*
 * The bytes around a block: a struct fib_block before it, as in the driver, and
 * random guard bytes that differ in each boot.
 */
static char pattern[ZONE];
#define FRONT (ZONE - sizeof(struct fib_block))

static LIST_HEAD(calls);
static DEFINE_SPINLOCK(lock);

int contract_reserve(const struct contract_call *t)
{
	size_t beside = sizeof(struct block) + 2 * ZONE;

	return arena_reserve(t->peak_bytes, t->peak_count, beside);
}

void contract_map_once(struct contract_call *t)
{
	t->arena = t->peak_bytes >= MAPPED_ONCE && !contract_reserve(t);
}

void contract_compare(const struct contract_call *t, const char *when)
{
	const struct fib_call *call = &t->call;

	if (call->blocks != t->count || call->bytes != t->bytes)
		complain(
			"%s, the call counts %llu bytes in %llu blocks, it has %llu in %llu",
			when, call->bytes, call->blocks, t->bytes, t->count);
	else if (call->allocations != t->allocations ||
		 call->peak_bytes != t->peak_bytes)
		complain(
			"%s, the call counts %llu allocations and %llu bytes at most, it had %llu and %llu",
			when, call->allocations, call->peak_bytes,
			t->allocations, t->peak_bytes);
}

void contract_draw_pattern(void)
{
	get_random_bytes(pattern, sizeof(pattern));
}

void contract_begin(struct contract_call *t)
{
	t->account = (struct fib_account)FIB_ACCOUNT(t->account);
	t->call.work = t->yield_always ? FIB_WORK_LIMIT : 0;
	INIT_LIST_HEAD(&t->blocks);
	t->allocations = 0;
	t->count = 0;
	t->bytes = 0;
	t->peak_bytes = 0;
	t->peak_count = 0;
	t->asked = 0;
	t->yields = 0;
	t->announced = 0;
	t->checks = 0;
	if (t->arena)
		arena_begin();
	spin_lock(&lock);
	list_add(&t->list, &calls);
	spin_unlock(&lock);
}

/* Return the hash of the bytes of a block that belong to the stage; never 0. */
static u64 block_hash(const struct block *block)
{
	return test_digest((char *)(block + 1) + ZONE, block->bytes) | 1;
}

void contract_freeze(struct contract_call *t)
{
	struct block *block;

	list_for_each_entry(block, &t->blocks, list) {
		/* cppcheck-suppress uninitvar */
		block->frozen = block_hash(block);
	}
	/* Check a long number less often, because hashing it takes long. */
	t->checks = min_t(u64, FROZEN_CHECKS,
			  1 + div64_u64(FROZEN_BYTES, t->bytes + 1));
}

void contract_check_frozen(struct contract_call *t)
{
	struct block *block;

	if (!t->checks)
		return;
	t->checks--;
	list_for_each_entry(block, &t->blocks, list) {
		/* cppcheck-suppress uninitvar */
		if (block->frozen && block->frozen != block_hash(block))
			complain(
				"decimal writes to the number it is given, at least temporarily");
	}
}

u64 *contract_word(struct contract_call *t, u64 index)
{
	struct block *block;

	list_for_each_entry(block, &t->blocks, list) {
		/* cppcheck-suppress uninitvar */
		u64 words = block->bytes / sizeof(u64);

		if (index < words)
			return (u64 *)((char *)(block + 1) + ZONE) + index;
		index -= words;
	}
	return NULL;
}

const char *contract_block(struct contract_call *t, u64 index, size_t *bytes)
{
	struct block *block;

	list_for_each_entry(block, &t->blocks, list) {
		/* cppcheck-suppress uninitvar */
		*bytes = block->bytes;
		if (!index--)
			/* cppcheck-suppress uninitvar */
			return (char *)(block + 1) + ZONE;
	}
	return NULL;
}

static void take_back(struct block *block)
{
	struct contract_call *t = block->owner;

	spin_lock(&lock);
	list_del(&block->list);
	spin_unlock(&lock);
	t->count--;
	t->bytes -= block->bytes;
	t->account.blocks--;
	t->account.bytes -= block->bytes;
	memset(block + 1, FREED_BYTE, block->total - sizeof(*block));
	if (t->arena)
		arena_put(block);
	else
		kvfree(block);
}

void contract_end(struct contract_call *t, const char *when)
{
	struct block *block, *next;

	if (t->count)
		complain(LEAK "%s, %llu bytes in %llu blocks are left", when,
			 t->bytes, t->count);
	contract_compare(t, when);
	spin_lock(&lock);
	list_del(&t->list);
	spin_unlock(&lock);
	list_for_each_entry_safe(block, next, &t->blocks, list)
	{
		take_back(block);
	}
}

/* Return the contract_call that contains @call; NULL if there is none. */
static struct contract_call *known(const struct fib_call *call)
{
	struct contract_call *t, *found = NULL;

	spin_lock(&lock);
	list_for_each_entry(t, &calls, list) {
		if (&t->call == call)
			found = t; /* cppcheck-suppress uninitvar */
	}
	spin_unlock(&lock);
	if (!found)
		complain("the stage passes a struct fib_call of its own");
	return found;
}

static void *get(struct contract_call *t, size_t total)
{
	if (t->arena)
		return arena_get(total);
	return kvmalloc(total, GFP_KERNEL | __GFP_NOWARN);
}

static void *allocate(struct contract_call *t, size_t count, size_t size)
{
	struct fib_call *call = &t->call;
	struct block *block = NULL;
	size_t bytes, total;
	char *zone;

	contract_compare(t, "at an allocation");
	contract_check_frozen(t);
	if (t->between)
		t->between(t);
	if (++t->asked != t->fail_at &&
	    !check_mul_overflow(count, size, &bytes) &&
	    !check_add_overflow(bytes, sizeof(*block) + 2 * ZONE, &total))
		block = get(t, total);
	if (!block) {
		call->error = -ENOMEM;
		return NULL;
	}
	block->owner = t;
	block->bytes = bytes;
	block->total = total;
	block->frozen = 0;
	spin_lock(&lock);
	list_add(&block->list, &t->blocks);
	spin_unlock(&lock);
	zone = (char *)(block + 1);
	memcpy(zone, pattern, FRONT);
	*(struct fib_block *)(zone + FRONT) =
		(struct fib_block){ &t->account, ~bytes };
	memset(zone + ZONE, t->fill, bytes);
	memcpy(zone + ZONE + bytes, pattern, ZONE);
	t->allocations++;
	t->count++;
	t->bytes += bytes;
	t->peak_bytes = max(t->peak_bytes, t->bytes);
	t->peak_count = max(t->peak_count, t->count);
	t->account.allocations = t->allocations;
	t->account.blocks = t->count;
	t->account.bytes = t->bytes;
	t->account.peak_bytes = t->peak_bytes;
	call->allocations++;
	call->blocks++;
	call->bytes += bytes;
	if (call->peak_bytes < call->bytes)
		call->peak_bytes = call->bytes;
	return zone + ZONE;
}

void *fib_alloc(struct fib_call *call, size_t count, size_t size)
{
	u64 begin = ticks();
	struct contract_call *t = known(call);
	void *memory;

	if (!t)
		return NULL;
	memory = allocate(t, count, size);
	t->own_ticks += ticks() - begin;
	return memory;
}

static struct block *block_of(const void *pointer)
{
	struct block *block, *found = NULL;
	struct contract_call *t;

	spin_lock(&lock);
	list_for_each_entry(t, &calls, list) {
		list_for_each_entry(block, &t->blocks, list) {
			/* cppcheck-suppress uninitvar */
			if ((char *)(block + 1) + ZONE == pointer)
				found = block;
		}
	}
	spin_unlock(&lock);
	return found;
}

static void release(struct block *block)
{
	const char *zone = (char *)(block + 1);
	const struct fib_block *ahead = (const void *)(zone + FRONT);

	if (memcmp(zone, pattern, FRONT) ||
	    ahead->account != &block->owner->account ||
	    ahead->not_bytes != ~block->bytes)
		complain("a byte before a block of %zu bytes is written to",
			 block->bytes);
	if (memcmp(zone + ZONE + block->bytes, pattern, ZONE))
		complain("a byte behind a block of %zu bytes is written to",
			 block->bytes);
	contract_compare(block->owner, "where a block is freed");
	block->owner->call.blocks--;
	block->owner->call.bytes -= block->bytes;
	take_back(block);
}

void fib_free(const void *pointer)
{
	u64 begin = ticks();
	struct contract_call *t;
	struct block *block;

	if (!pointer)
		return;
	block = block_of(pointer);
	if (!block) {
		complain(
			"the address that is freed is not a block, or was freed already");
		return;
	}
	t = block->owner;
	release(block);
	t->own_ticks += ticks() - begin;
}

/*
 * The number of yields that a killed call may still make while it frees its
 * memory.
 */
#define YIELDS_WHEN_KILLED 2

int fib_yield(struct fib_call *call)
{
	struct contract_call *t = known(call);

	if (!t)
		return 0;
	contract_compare(t, "at a yield");
	contract_check_frozen(t);
	if (call->work > 2 * FIB_WORK_LIMIT)
		complain(
			"fib_account_work gets %llu products at once, at most %d are allowed",
			call->work - FIB_WORK_LIMIT, FIB_WORK_LIMIT);
	t->announced += call->work - (FIB_WORK_LIMIT - !!t->yields);
	/* Start at 1 below the limit, so that any work reaches the limit. */
	call->work = t->yield_always ? FIB_WORK_LIMIT - 1 : 0;
	t->yields++;
	if (t->between)
		t->between(t);
	if (t->at_yield)
		t->at_yield(t);
	if (!t->kill_at || t->yields < t->kill_at)
		return 0;
	if (t->yields > t->kill_at + YIELDS_WHEN_KILLED)
		complain(
			"the call goes on after yield %llu has found its caller killed",
			t->kill_at);
	/* Otherwise a later yield would restore an error that the stage lost. */
	if (t->killed_once && t->yields > t->kill_at)
		return 0;
	call->error = -EINTR;
	return -EINTR;
}
