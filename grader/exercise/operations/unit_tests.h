/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What unit_tests.c has of a stage's operations: from word_tests.c in
 * stages 1 and 2, from bignum_tests.c from stage 3 on.
 */
#ifndef FUNCTION_TESTS_H
#define FUNCTION_TESTS_H

#include <stdio.h>
#include <stdlib.h>

#include "allocator_state.h"

/**
 * struct request - a line, as it has been read
 * @op: which operation
 * @a: its first operand
 * @b: its second; "" for none
 */
struct request {
	char op[16];
	const char *a;
	const char *b;
};

/* Does what is asked for, and prints the result. */
void run(struct fib_call *call, const struct request *r);

/* Prints a number as it is read. */
void print_value(const union fib_value *f);

/* fib_decimal into so many bytes, and prints what comes of it. */
void do_decimal(struct fib_call *call, const union fib_value *f, size_t size);

/* Whether the blocks that are asked for from now on have pages of their own. */
void apart(bool on);

/* Whether so many bytes are in one of those blocks. */
bool tests_is_apart(const void *place, size_t bytes);

/* Whether those blocks are to be read only. */
void protect(bool on);

#endif
