/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Operations on digits that compute in vector registers. They may be called
 * only between fib_fpu_begin and fib_fpu_end, for at most DIGITS_SECTION
 * digits.
 */
#ifndef DIGITS_AVX2_H
#define DIGITS_AVX2_H

#include "digits.h"

/* The maximum number of digits in one section; a multiple of DIGITS_AT_ONCE. */
#define DIGITS_SECTION 16384

/**
 * struct digits_carry - the carry of a product to higher positions
 * @up: a carry, a value for the next position, and a value for the one after it
 */
struct digits_carry {
	s32 up[3];
};

int digits_avx2_combine(s16 *c, int x, const s16 *a, int y, const s16 *b,
			size_t count, int carry);
int digits_avx2_fifth(s16 *a, size_t count, int carry);
void digits_avx2_from_doubles(s16 *digit, const double *x, size_t count,
			      double scale, struct digits_carry *carry);
bool digits_avx2_make_unique(s16 *a, size_t count, bool borrow);
void digits_avx2_print(char *text, const s16 *digit, size_t count);

#endif
