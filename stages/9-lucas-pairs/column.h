/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A column of a product: the sum of all a[i] * b[k - i], from which limb k is
 * computed. To compute by columns instead of rows is Comba's method, or product
 * scanning: P. G. Comba, "Exponentiation cryptosystems on the IBM PC", IBM
 * Systems Journal 29 (1990).
 *
 * B is one more than the largest limb: LIMB_BASE, 10^18. 128 bits can hold
 *
 *	340 * (B - 1)^2 + 2^128 / B < 2^128
 *
 * that is, 340 products and any carry from the column before. Therefore a
 * column is first summed without any check for overflow, and then reduced to a
 * limb.
 *
 * 128-bit integers exist on 64-bit kernels only. The plain 64-bit divisions
 * here and in other files do not link on a 32-bit kernel either.
 */
#ifndef COLUMN_H
#define COLUMN_H

#include "bignum.h"

typedef unsigned __int128 column_t;
#define COLUMN_PRODUCTS 340

/*
 * Return sum / B, or up to 4 less, without a division. As in Barrett reduction,
 * the quotient is computed by a multiplication by a reciprocal ("Handbook of
 * Applied Cryptography", 14.3.3), and its error is corrected later. For
 * s = high * 2^64 + low,
 *
 *	s / B = high * 18 + high * f + low / B, with f = 2^64 / B - 18 = 0.4467...
 *
 * The first term is exact. For the second term, FRACTION is f * 2^64 rounded
 * down:
 *
 *	python3 -c 'print(2**128 // 10**18 - 18 * 2**64)'
 *
 * This makes the term too small by less than 0.375, and the shift, which rounds
 * down, by less than 1 more. The third term, low / B, is less than 18.4468.
 * low / 2^60 is used instead, which is less than 16 and smaller by the factor
 * 2^60 / B: so it is too small by less than 2.4468, and rounding down adds less
 * than 1. In total the result is never more than s / B, and too small by less
 * than 0.375 + 1 + 2.4468 + 1 < 4.822.
 */
static inline column_t column_quotient(column_t sum)
{
	const u64 FRACTION = 8240973594166534375ULL;
	u64 high = sum >> 64, low = sum;
	u64 rest = ((column_t)high * FRACTION >> 64) + (low >> 60);

	return (column_t)high * 18 + rest;
}

/**
 * struct carry - the carry from a column to the columns above it
 * @large: must be added to the next sum; it need not be exact
 * @small: the error of @large, at most 4; must be added to the next limb
 */
struct carry {
	column_t large;
	limb_t small;
};

/*
 * Return the limb of a column whose @sum includes @carry->large, and store the
 * new carry in @carry.
 *
 * The next column depends only on the quotient. The remainder, less than 4.822
 * B, is reduced to a limb at the same time: B * 4.822 + 4 < 2^63.
 */
static inline limb_t column_limb(struct carry *carry, column_t sum)
{
	column_t quotient = column_quotient(sum);
	limb_t limb = (limb_t)sum - (limb_t)quotient * LIMB_BASE + carry->small;

	carry->large = quotient;
	carry->small = limb / LIMB_BASE;
	return limb - carry->small * LIMB_BASE;
}

/* a[0] * b[0] */
static inline column_t limb_product(const limb_t *a, const limb_t *b)
{
	return (column_t)*a * *b;
}

/*
 * a[0] * b[0] + a[1] * b[-1] + a[2] * b[-2] + ...; a column can hold all @count
 * products
 */
static inline column_t comba_column(const limb_t *a, const limb_t *b,
				    size_t count)
{
	column_t sum = 0;

	if (count & 1)
		sum = limb_product(a++, b--);
	if (count & 2) {
		sum += limb_product(a, b);
		sum += limb_product(a + 1, b - 1);
		a += 2;
		b -= 2;
	}
	/* Unrolled, because counting each product takes a fifth of the time. */
	for (count /= 4; count; count--, a += 4, b -= 4) {
		sum += limb_product(a, b);
		sum += limb_product(a + 1, b - 1);
		sum += limb_product(a + 2, b - 2);
		sum += limb_product(a + 3, b - 3);
	}
	return sum;
}

#endif
