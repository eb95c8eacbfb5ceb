/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The interface between unit_tests.c and the operations of a stage.
 * word_tests.c implements it for stages 1 and 2, bignum_tests.c from stage 3
 * on.
 */
#ifndef FUNCTION_TESTS_H
#define FUNCTION_TESTS_H

#include <stdio.h>
#include <stdlib.h>

#include "allocator_state.h"

/**
 * struct request - one line of the input
 * @op: the operation
 * @a: its first operand
 * @b: its second operand; "" if there is none
 */
struct request {
	char op[16];
	const char *a;
	const char *b;
};

/* Run the operation of a request and print its result. */
void run(struct fib_call *call, const struct request *r);

/* Print a number in the format of the requests. */
void print_value(const union fib_value *f);

/* Call fib_decimal() with a buffer of @size bytes and print the result. */
void do_decimal(struct fib_call *call, const union fib_value *f, size_t size);

/* Set whether blocks allocated from now on have pages of their own. */
void apart(bool on);

/*
 * Return whether @bytes bytes from @place on are in a block with pages of its
 * own.
 */
bool tests_is_apart(const void *place, size_t bytes);

/* Make all blocks with pages of their own read-only, or writable again. */
void protect(bool on);

#endif
