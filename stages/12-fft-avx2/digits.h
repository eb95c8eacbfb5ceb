/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Integers in base 10^4 with signed digits.
 */
#ifndef DIGITS_H
#define DIGITS_H

#include "bignum.h"

#define DIGIT_BASE 10000
#define DIGIT_WIDTH 4
/* The maximum absolute value of a digit after any operation: see digits.c. */
#define DIGIT_MAX 5012
/*
 * Digits in a vector. Arrays are aligned to vectors and consist of whole
 * vectors.
 */
#define DIGITS_AT_ONCE 16
/* Digits that are printed in one step. */
#define PRINTED_AT_ONCE 8

/**
 * struct digits - an integer
 * @digit: its digits, the least significant first, from -DIGIT_MAX to
 *	DIGIT_MAX; zeros follow, up to a multiple of DIGITS_AT_ONCE
 * @size: number of digits; the top one is not 0
 */
struct digits {
	s16 *digit;
	size_t size;
};

size_t digits_room(size_t size);
void digits_from_limbs(struct digits *c, const struct bignum *a);
int digits_combine(struct fib_call *call, struct digits *c, int x,
		   const struct digits *a, int y, const struct digits *b);
int digits_div5(struct fib_call *call, struct digits *a);
int digits_make_unique(struct fib_call *call, struct digits *a);
size_t digits_width(const struct digits *a);
ssize_t digits_print(struct fib_call *call, char *text, size_t size,
		     const struct digits *a);
void digits_trim(struct digits *a);

#endif
