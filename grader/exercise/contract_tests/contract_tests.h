/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fibcontract: a stage's objects on an account that believes nothing. The module is
 * linked with the very objects that the driver is linked with; what it is asked
 * by its parameter "ask" it tries, and says there what does not fit stage.h.
 */
#ifndef FIBCONTRACT_H
#define FIBCONTRACT_H

#include <linux/ktime.h>
#include <linux/list.h>

#include "account.h"
#include "test_support.h"

/* Bytes around each block, result and buffer that nobody may write to. */
#define ZONE 64
#define ZONE_BYTE 0xa5

/**
 * struct contract_call - a call, and what is known of it that the stage cannot reach
 * @account: as the driver has it, so that the stage sees the same around @call
 * @call: what the stage sees
 * @list: among the calls there are
 * @blocks: those that it has not given back
 * @allocations: blocks it was given
 * @count: blocks not given back
 * @bytes: bytes in them
 * @peak_bytes: the most that @bytes ever was
 * @peak_count: the most that @count ever was
 * @asked: allocations asked for, the refused ones too
 * @yields: yields so far
 * @announced: products that fib_account_work was told of, where @yield_always is set
 * @fail_at: the allocation that is refused, counted from 1; 0 for none
 * @kill_at: the yield that finds the caller killed; 0 for none
 * @own_ticks: what the account has taken of them, where @at_yield is set
 * @checks: how often the frozen blocks are still looked at
 * @fill: what fresh memory holds
 * @yield_always: yield at every fib_account_work
 * @arena: memory comes from the arena: no function of the kernel is called
 * @between: called at allocations and yields; NULL for nothing
 * @at_yield: called at yields; NULL for nothing
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
	u64 own_ticks;
	unsigned int checks;
	u8 fill;
	bool yield_always;
	bool arena;
	void (*between)(struct contract_call *t);
	void (*at_yield)(struct contract_call *t);
};

/* The finest clock there is: the TSC where there is one, else nanoseconds. */
static inline u64 ticks(void)
{
	return test_cycles() ?: ktime_get_ns();
}

/* Ahead of the text of complain() where memory was not released. */
#define LEAK "leak: "

/* Says what is wrong; the first time counts. */
__printf(1, 2) void complain(const char *format, ...);

bool contract_wrong(void);

/* Begins a call whose options are set, and ends it: nothing of it may be left. */
void contract_begin(struct contract_call *t);
void contract_end(struct contract_call *t, const char *when);

/* Complains unless what the stage sees of its account is what it has used. */
void contract_compare(const struct contract_call *t, const char *when);

/* The blocks there are now are to stay as they are, until the call ends. */
void contract_freeze(struct contract_call *t);
void contract_check_frozen(struct contract_call *t);

/* The word at @index of all that a call's blocks hold; NULL behind the last. */
u64 *contract_word(struct contract_call *t, u64 index);

/* The block at @index of those a call has, and its size; NULL behind the last. */
const char *contract_block(struct contract_call *t, u64 index, size_t *bytes);

/* Room in the arena for calls like @t, which has ended; -ENOMEM. */
int contract_reserve(const struct contract_call *t);

/* All that can be tried with F(@n). */
void try(u64 n, char *answer, size_t answer_size);

/* What can be tried where a call takes long. */
void top(u64 n, char *answer, size_t answer_size);

/* Complains unless the number F(@n) itself is what compute leaves. */
void try_kept(u64 n);
void kept(u64 n, char *answer, size_t answer_size);

/* Whether a block holds the number of so many digits, to whatever base. */
bool number_in(const char *block, size_t bytes, const char *digits,
	       size_t count);

/* How work is announced where calls are long, up to @max_n; says so in @answer. */
void pace(u64 max_n, bool vectors, char *answer, size_t size);

/* Calls on all CPUs at the same time. */
void together(u64 n, char *answer, size_t size);

/*
 * F(@n) is asked for, and the allocation or yield @place of @count fails; @what says
 * which of them, and is NULL behind such calls. A panic then says so in the log.
 */
void during(u64 n, const char *what, u64 place, u64 count);
int during_begin(void);
void during_end(void);

/* The seed of the places that fail, and the modulus of residues, of 31 bits. */
extern u64 contract_seed;
extern u64 contract_modulus;

/* The residue of a decimal number. */
u64 residue(const char *digits, size_t count);

#endif
