/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Make one call of a stage and check everything that can be observed of it.
 */
#ifndef ONE_CALL_H
#define ONE_CALL_H

#include "contract_tests.h"

/* New memory is filled with one of these bytes; no result may depend on it. */
#define FILL 0x5a
#define OTHER_FILL 0xe7

/* A guarded buffer: a buffer for digits between two zones of guard bytes. */
struct room {
	char *memory;
	size_t bytes;
};

int room_create(struct room *room, size_t bytes);

/*
 * Call fib_decimal with the first @size bytes of a guarded buffer. Report a
 * violation if fib_decimal writes outside of these bytes.
 */
ssize_t decimal_into(struct contract_call *t, const union fib_value *f,
		     const struct room *room, size_t size);

/* The results of a call and its counters. */
struct outcome {
	ssize_t result;
	u64 hash;
	u64 residue; /* set only by the first call with this n */
	size_t limbs;
	u64 held; /* bytes of the blocks that hold the number */
	u64 peak;
	u64 asked;
	u64 yields;
	u64 yields_computing; /* the yields of compute */
	u64 word; /* the value, or a pointer to it */
	u64 computing; /* products announced by compute */
	u64 converting; /* products announced by decimal */
};

/* Compute, convert and release once, with the options of @t. */
struct outcome one_call(struct contract_call *t, u64 n, const struct room *room,
			const char *when);

void check_same(struct outcome got, struct outcome want, const char *when);

/* What has failed in a call, for messages. */
#define FAILED "with a failed allocation,"
#define KILLED "when killed at yield"

/* The allocations or yields after the first @before, up to the @last. */
struct places {
	u64 before;
	u64 last;
};

/*
 * Make @samples calls. In each call, one of the allocations or yields @from
 * fails; its number is stored in *@place, which is a field of @t. Each call must
 * return @error and free its memory.
 */
void try_failures(struct contract_call *t, u64 *place, struct places from,
		  u64 samples, int error, u64 n, const struct room *room,
		  const char *what);

/*
 * Return how many bytes of stack a call takes at most: a call without a failure,
 * whose result must be @want, and calls that end at each kind of failure.
 */
size_t stack_used(u64 n, const struct room *room, struct outcome want);

#endif
