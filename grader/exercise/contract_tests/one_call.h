/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A call of a stage, with all that can be seen of it looked at.
 */
#ifndef ONE_CALL_H
#define ONE_CALL_H

#include "contract_tests.h"

/* Fresh memory holds the one or the other: results must not depend on it. */
#define FILL 0x5a
#define OTHER_FILL 0xe7

/* A buffer for digits with a zone on both sides, and what is there before. */
struct room {
	char *memory;
	size_t bytes;
};

int room_create(struct room *room, size_t bytes);

/* fib_decimal into the first @size bytes of a room; the rest stays as it is. */
ssize_t decimal_into(struct contract_call *t, const union fib_value *f,
		     const struct room *room, size_t size);

/* What came of a call, and with what it was made. */
struct outcome {
	ssize_t result;
	u64 hash;
	u64 residue; /* of the first call's digits only */
	size_t limbs;
	u64 held; /* bytes that the number is kept in */
	u64 peak;
	u64 asked;
	u64 yields;
	u64 word; /* what the value is, or where */
	u64 computing; /* products announced by compute, and by decimal */
	u64 converting;
};

/* Compute, convert, release: once, with whatever @t asks for. */
struct outcome one_call(struct contract_call *t, u64 n, const struct room *room,
			const char *when);

void check_same(struct outcome got, struct outcome want, const char *when);

/*
 * Of @count places where a call can fail, @samples fail in their turn; @place
 * is which, in @t. The call must return @error, and leave nothing.
 */
void try_failures(struct contract_call *t, u64 *place, u64 count, u64 samples,
		  int error, u64 n, const struct room *room, const char *what);

/* Bytes of the stack that a call takes, which is compared with @want. */
size_t stack_used(u64 n, const struct room *room, struct outcome want);

#endif
