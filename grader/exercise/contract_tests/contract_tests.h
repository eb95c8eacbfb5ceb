/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fibcontract: a module that runs a stage with an account that checks every
 * call. It is linked with the same objects as the driver. Its parameter "ask"
 * takes the test to run. When it is read, it returns the results or the first
 * violation of stage.h.
 */
#ifndef FIBCONTRACT_H
#define FIBCONTRACT_H

#include <linux/ktime.h>
#include <linux/list.h>

#include "account.h"
#include "test_support.h"

/* The guard bytes around each block, result and buffer. */
#define ZONE 64
#define ZONE_BYTE 0xa5

/**
 * struct contract_call - a call, and its state that the stage cannot reach
 * @account: as in the driver, so that the same memory surrounds @call
 * @call: the part that the stage gets
 * @list: the entry in the list of all calls
 * @blocks: the list of the blocks that are not freed
 * @allocations: number of blocks allocated
 * @count: number of blocks that are not freed
 * @bytes: bytes in the blocks not freed
 * @peak_bytes: the maximum of @bytes
 * @peak_count: the maximum of @count
 * @asked: number of allocations requested, including failed ones
 * @yields: number of yields
 * @announced: products passed to fib_account_work, if @yield_always is set
 * @fail_at: the allocation that fails, counted from 1; 0 for none
 * @kill_at: the yield that finds the caller killed; 0 for none
 * @killed_once: later yields do not find it killed, like the calls of
 * 	fib_account_work() that do not yield
 * @own_ticks: ticks spent in the account, if @at_yield is set
 * @checks: number of checks of the frozen blocks that are left
 * @fill: the byte that fills new blocks
 * @room: the bytes for the digits; 0 for as many as F(n) may need
 * @yield_always: yield at every fib_account_work
 * @arena: allocate from the arena, without calls of kernel functions
 * @between: called at allocations and yields; NULL for no function
 * @at_yield: called at yields; NULL for no function
 */
struct contract_call {
	union {
		struct fib_account account;
		struct {
			char ahead[offsetof(struct fib_account, call)];
			struct fib_call call;
		};
	};
	struct list_head list;
	struct list_head blocks;
	u64 allocations;
	u64 count;
	u64 bytes;
	u64 peak_bytes;
	u64 peak_count;
	u64 asked;
	u64 yields;
	u64 announced;
	u64 fail_at;
	u64 kill_at;
	bool killed_once;
	u64 own_ticks;
	unsigned int checks;
	u8 fill;
	size_t room;
	bool yield_always;
	bool arena;
	void (*between)(struct contract_call *t);
	void (*at_yield)(struct contract_call *t);
};

/*
 * Return the time of the clock with the best resolution: the TSC if available,
 * else in ns.
 */
static inline u64 ticks(void)
{
	return test_cycles() ?: ktime_get_ns();
}

/* The prefix of complain() messages about leaked memory. */
#define LEAK "leak: "

/* Report a violation. Only the first violation of a test is kept. */
__printf(1, 2) void complain(const char *format, ...);

bool contract_wrong(void);

/*
 * Draw the bytes that surround each block: once, before the first call. Do not
 * use get_random_once() for it: its deferred work holds the module for some ms,
 * and rmmod fails.
 */
void contract_draw_pattern(void);

/*
 * Begin a call whose options are set; end it and complain about blocks that are
 * not freed.
 */
void contract_begin(struct contract_call *t);
void contract_end(struct contract_call *t, const char *when);

/*
 * Complain unless the counters in @t->call equal the counters of the account.
 */
void contract_compare(const struct contract_call *t, const char *when);

/*
 * From now on until the call ends, the stage must not change the blocks that
 * exist now.
 */
void contract_freeze(struct contract_call *t);
void contract_check_frozen(struct contract_call *t);

/*
 * Return the address of word @index of all blocks of a call; NULL past the last
 * word.
 */
u64 *contract_word(struct contract_call *t, u64 index);

/* Return block @index of a call, and its size; NULL past the last block. */
const char *contract_block(struct contract_call *t, u64 index, size_t *bytes);

/*
 * Reserve arena memory for calls like @t, which has ended. Return 0 or -ENOMEM.
 */
int contract_reserve(const struct contract_call *t);

/*
 * Let the next calls like @t, which has ended, use the arena if they hold a lot
 * of memory. UML maps each page of a new block when it is first used, which
 * takes 15 us a page and for a long call more time than the call itself.
 */
void contract_map_once(struct contract_call *t);

/*
 * Begin to measure the sections with vector registers of a call. @first: the
 * call is the first one for its n; the others make the same sections.
 */
void sections_begin(bool first);

/* Return the ticks of the longest section; of each, the fastest call counts. */
u64 sections_longest(void);

/* Run all tests of F(@n). */
void try(u64 n, char *answer, size_t answer_size);

/* Run the tests of F(@n) that are fast enough for a large n. */
void top(u64 n, char *answer, size_t answer_size);

/* Measure the stack of calls of F(@n). */
void once(u64 n, char *answer, size_t answer_size);

/* Run these tests as on a processor without AVX2. */
void without_vectors(void (*run)(u64 n, char *answer, size_t answer_size),
		     u64 n, char *answer, size_t answer_size);

/* Complain unless compute stores the number F(@n) itself. */
void try_retention(u64 n);
void result_retention(u64 n, char *answer, size_t answer_size);

/* Return whether a block holds the number @digits, in limbs to any base. */
bool number_in(const char *block, size_t bytes, const char *digits,
	       size_t count);

/*
 * Measure the intervals between the yields of long calls up to @max_n, see
 * yield_interval.c. @vectors: the stage has vector files.
 */
void yield_interval(u64 max_n, bool vectors, char *answer, size_t size);

/* Measure only the intervals of F(@n). */
void yield_interval_at(u64 n, bool vectors, char *answer, size_t size);

/* Run calls on two CPUs at the same time. */
void concurrent_calls(u64 n, char *answer, size_t size);

/*
 * Record the failure that is injected into a call of F(@n), so that the log of
 * a panic shows it: allocation or yield @place of @count fails. @what names the
 * kind of failure; NULL means that the call has returned.
 */
void during(u64 n, const char *what, u64 place, u64 count);
int during_begin(void);
void during_end(void);

/*
 * The seed of the injected failures, and the modulus of residues, which has 31
 * bits.
 */
extern u64 contract_seed;
extern u64 contract_modulus;

/* Return the residue of a decimal number. */
u64 residue(const char *digits, size_t count);

#endif
