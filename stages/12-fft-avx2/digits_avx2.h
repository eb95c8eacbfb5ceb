/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Operations on digits that compute in vector registers: each may be called
 * between fib_fpu_begin and fib_fpu_end only, for no more than DIGITS_SECTION
 * digits.
 */
#ifndef DIGITS_AVX2_H
#define DIGITS_AVX2_H

#include "digits.h"

/* The most digits in one section; a multiple of DIGITS_AT_ONCE. */
#define DIGITS_SECTION 16384

/**
 * struct digits_carry - what the places of a product hand on to those above
 * @up: a carry, what else belongs to the next place, and what to the one behind it
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
