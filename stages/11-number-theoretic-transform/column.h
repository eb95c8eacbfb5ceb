/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A column of a product: the sum of all a[i] * b[k - i], of which limb k is made.
 * To go by columns, not by rows, is Comba's method, or product scanning: P. G.
 * Comba, "Exponentiation cryptosystems on the IBM PC", IBM Systems Journal 29
 * (1990).
 *
 * B is one more than the largest limb: LIMB_BASE, 10^18. 128 bits have room for
 *
 *	340 * (B - 1)^2 + 2^128 / B < 2^128
 *
 * that is, for 340 products and whatever the column before has to carry. Hence a
 * column is summed first, without a look at it, and made a limb at the end.
 *
 * 128-bit numbers exist on 64-bit kernels only. So do the plain 64-bit divisions
 * here and in other files: on a 32-bit kernel they would not link.
 */
#ifndef COLUMN_H
#define COLUMN_H

#include "bignum.h"

typedef unsigned __int128 column_t;
#define COLUMN_PRODUCTS 340

/*
 * sum / B, or up to 5 less, without a division. As in Barrett's reduction the
 * quotient comes from a multiplication by a reciprocal ("Handbook of Applied
 * Cryptography", 14.3.3), and what it falls short by is corrected later. Of
 * s = high * 2^64 + low,
 *
 *	s / B = high * 18 + high * f + low / B, with f = 2^64 / B - 18 = 0.4467...
 *
 * the first term is exact. For the second, FRACTION is f * 2^64 rounded down:
 *
 *	python3 -c 'print(2**128 // 10**18 - 18 * 2**64)'
 *
 * This takes less than 1 off the term, and the shift, which rounds down as well,
 * less than 1. For the third, low / B is less than 18.4468, low / 2^60 less than
 * 16 and by the factor 2^60 / B smaller: by less than 2.4468, and rounding down
 * takes less than 1. Together the result is never above s / B, and falls short
 * by less than 5.4468.
 */
static inline column_t column_quotient(column_t sum)
{
	const u64 FRACTION = 8240973594166534375ULL;
	u64 high = sum >> 64, low = sum;
	u64 rest = ((column_t)high * FRACTION >> 64) + (low >> 60);

	return (column_t)high * 18 + rest;
}

/**
 * struct carry - what a column hands on to those above it
 * @large: to be added to the next sum; by then it need not be exact
 * @small: what was missing in it, at most 5; to be added to the next limb
 */
struct carry {
	column_t large;
	limb_t small;
};

/*
 * Takes the limb at its place out of a column, whose @sum has @carry->large in
 * it, and leaves the rest in @carry.
 *
 * The quotient is all that the next column waits for. What remains, less than
 * 5.4468 B, is made a limb beside that: B * 5.4468 + 5 < 2^63.
 */
static inline limb_t column_limb(struct carry *carry, column_t sum)
{
	column_t quotient = column_quotient(sum);
	limb_t limb = (limb_t)sum - (limb_t)quotient * LIMB_BASE + carry->small;

	carry->large = quotient;
	carry->small = limb / LIMB_BASE;
	return limb - carry->small * LIMB_BASE;
}

/* a[0] * b[0], of digits that may be negative. */
static inline column_t limb_product(const limb_t *a, const limb_t *b)
{
	return (__int128)(s64)a[0] * (s64)b[0];
}

/* a[0] * b[0] + a[1] * b[-1] + a[2] * b[-2] ..., of no more than a column takes */
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
	/* Here the time goes, and a fifth of it would go into counting. */
	for (count /= 4; count; count--, a += 4, b -= 4) {
		sum += limb_product(a, b);
		sum += limb_product(a + 1, b - 1);
		sum += limb_product(a + 2, b - 2);
		sum += limb_product(a + 3, b - 3);
	}
	return sum;
}

#endif
