/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What the tests of a stage's functions have of its numbers of several limbs: all
 * of it goes through these, and nothing else of the tests knows what is in one.
 */
#ifndef FUNCTION_TESTS_NUMBERS_H
#define FUNCTION_TESTS_NUMBERS_H

#include "stage.h"

enum tested_operation {
	TESTED_ADD,
	TESTED_SUB,
	TESTED_MUL,
	TESTED_SQUARE,
	/* The stage's manifest says which of these it has. */
	TESTED_LSHIFT,
	TESTED_COPY,
	TESTED_INCREASE,
	TESTED_DECREASE,
	TESTED_DIV5,
	TESTED_SOLINAS, /* products modulo the prime of stage 11 */
	TESTED_SHOUP,
	TESTED_FORWARD, /* its transform, from coefficients to values */
	TESTED_INVERSE,
	TESTED_TWICE_PLUS, /* from stage 12 on, by digits: 2a + b, and so on */
	TESTED_TWICE_MINUS,
	TESTED_FIFTH,
	TESTED_UNIQUE,
	TESTED_TEXT,
	TESTED_FFT_MUL,
	TESTED_FFT_SQUARE,
};

/* The width of a limb in memory, and how many digits, hexadecimal or decimal, it holds. */
size_t tested_limb_bytes(void);
size_t tested_limb_digits(void);

/* As bn_create; the count is 1 unless results are preallocated. */
struct bignum *tested_create(struct fib_call *call, size_t count, size_t size);

/* The @i-th of the numbers that were made together with @a. */
struct bignum *tested_at(struct bignum *a, size_t i);
void tested_free(struct bignum *a);

void *tested_limbs(struct bignum *a);
size_t tested_size(const struct bignum *a);
void tested_set_size(struct bignum *a, size_t size);

/* Of decimal limbs only. */
size_t tested_capacity(const struct bignum *a);

/**
 * tested_operate() - call one of the stage's functions
 * @what: which
 * @c: where the result goes; a number that is returned is left here
 * @a: its first operand
 * @b: its second, where that is a number
 * @word: its second, where that is a count of bits or a limb
 *
 * Return: what the function returns, where that is an error or 0.
 */
int tested_operate(enum tested_operation what, struct bignum **c,
		   struct bignum *a, struct bignum *b, u64 word);

#endif
