/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The interface of the unit tests to numbers of several limbs. Only the
 * implementation of these functions depends on a stage's struct bignum.
 */
#ifndef FUNCTION_TESTS_NUMBERS_H
#define FUNCTION_TESTS_NUMBERS_H

#include "stage.h"

enum tested_operation {
	TESTED_ADD,
	TESTED_SUB,
	TESTED_MUL,
	TESTED_SQUARE,
	/*
	 * The traits of a stage list which of the following operations it has.
	 */
	TESTED_LSHIFT,
	TESTED_COPY,
	TESTED_INCREASE,
	TESTED_DECREASE,
	TESTED_DIV5,
	TESTED_SOLINAS, /* multiply modulo the prime of stage 11 */
	TESTED_SHOUP,
	TESTED_FORWARD, /* transform coefficients to values */
	TESTED_INVERSE,
	/* The operations on digits, from stage 12 on. */
	TESTED_TWICE_PLUS, /* 2a + b */
	TESTED_TWICE_MINUS, /* 2b - a */
	TESTED_MINUS, /* b - a */
	TESTED_FIFTH,
	TESTED_UNIQUE,
	TESTED_TEXT,
	TESTED_FFT_MUL,
	TESTED_FFT_SQUARE,
};

/*
 * Return the bytes of a limb, and the hexadecimal or decimal digits that a limb
 * holds.
 */
size_t tested_limb_bytes(void);
size_t tested_limb_digits(void);

/*
 * Call bn_create(). Return NULL if there is no memory, and an ERR_PTR for any
 * other result that is no number. @count must be 1 unless results are
 * preallocated.
 */
struct bignum *tested_create(struct fib_call *call, size_t count, size_t size);

/* Return the account of a number. */
const struct fib_call *tested_call(const struct bignum *a);

/* Return number @i of the numbers that were created together with @a. */
struct bignum *tested_at(struct bignum *a, size_t i);
void tested_free(struct bignum *a);

void *tested_limbs(struct bignum *a);
size_t tested_size(const struct bignum *a);
void tested_set_size(struct bignum *a, size_t size);

/* Return the capacity of a number of decimal limbs. */
size_t tested_capacity(const struct bignum *a);

/**
 * tested_operate() - call one of the stage's functions
 * @what: the function
 * @c: the number for the result; a returned number is stored here
 * @a: the first operand
 * @b: the second operand, if it is a number
 * @word: the second operand, if it is a count of bits or a limb; or how often
 *	TESTED_SOLINAS and TESTED_SHOUP multiply @a by @b, at least once
 *
 * Return: the function's error, or 0 if it returns no error.
 */
int tested_operate(enum tested_operation what, struct bignum **c,
		   struct bignum *a, struct bignum *b, u64 word);

/*
 * Two numbers in digits with signs, from stage 12 on, for an operation whose
 * instructions are counted.
 */
struct tested_digits;

/* Create two numbers of @size digits, which are not set. */
struct tested_digits *tested_digits_create(struct fib_call *call, size_t size);

/* Return the array of digits of number @i, 0 or 1. */
s16 *tested_digit(struct tested_digits *both, size_t i);

/*
 * Call a function. For TESTED_TEXT, @text has room for @size characters.
 *
 * Return: the function's result: an error, 0, or the number of characters.
 */
ssize_t tested_digits_operate(enum tested_operation what,
			      struct tested_digits *both, char *text,
			      size_t size);

/* Return the array of digits of the result, and set @size to their number. */
s16 *tested_digits_result(enum tested_operation what,
			  const struct tested_digits *both, size_t *size);
void tested_digits_free(struct tested_digits *both);

#endif
