/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The interface between unit_tests.c and the operations of a stage.
 * word_tests.c implements this interface for stages 1 and 2, bignum_tests.c
 * implements it from stage 3 on.
 */
#ifndef FUNCTION_TESTS_H
#define FUNCTION_TESTS_H

#include <stdio.h>
#include <stdlib.h>

#include "allocator_state.h"

/**
 * struct request - one line of the input
 * @op: the operation
 * @a: the first operand
 * @b: the second operand; "" if there is none
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

/*
 * Call fib_decimal() with a buffer of @size bytes until no further allocation or
 * yield fails, and print the result.
 */
void do_decimal(struct fib_call *call, const union fib_value *f, size_t size);

/* Set whether blocks allocated from now on have separate pages. */
void apart(bool on);

/*
 * Return whether the @bytes bytes at the address @place are in a block with
 * separate pages.
 */
bool tests_is_apart(const void *place, size_t bytes);

/*
 * Let the first allocation or yield fail that has a new stack of calls, up to
 * the caller's @frame. A stack is new if it has not failed in a call of the same
 * @kind with operands whose @length in digits has as many bits.
 */
void failures_begin(void *frame, size_t length, unsigned int kind);

/* End this. Return whether an allocation or a yield has failed. */
bool failures_end(void);

/*
 * Print the failure, unless the function returned its error, @blocks blocks of
 * memory are left, as before, and @fault is "". @fault says what is wrong with
 * the number in which the function stores its result. @name is printed instead
 * of @result, if it is not NULL.
 */
void failures_judge(long result, const char *name, u64 blocks,
		    const char *fault);

/* Make all blocks with separate pages read-only, or writable again. */
void protect(bool on);

#endif
