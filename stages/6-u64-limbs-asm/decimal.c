// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Decimal digits of a number, by chunks: divided by 10^19 again and again, its
 * remainders are nineteen digits each, the last ones first.
 */
#include "bignum.h"

/* The largest power of ten in a limb. */
#define CHUNK 10000000000000000000ULL
#define CHUNK_DIGITS 19
/* Its reciprocal: (B^2 - 1) / CHUNK - B, rounded down, with B = 2^LIMB_BITS. */
#define CHUNK_RECIPROCAL 0xd83c94fb6d2ac34aULL

/*
 * (high * B + low) / CHUNK, where high < CHUNK, so that the quotient is a limb.
 * The division instruction would do it, but takes up to ten times as long on
 * one CPU as on another; two multiplications do not. This is algorithm 4 of
 * Moeller and Granlund, "Improved division by invariant integers", IEEE
 * Transactions on Computers 60 (2011); GMP calls it udiv_qrnnd_preinv.
 *
 * Why it is right: let u = high * B + low, d = CHUNK, where B / 2 <= d < B, and
 * w = B + CHUNK_RECIPROCAL; w * d = B^2 - s with 1 <= s <= d. Then
 * w * high + low = q1 * B + q0 is less than B^2, and q1 + 1 is nearly the
 * quotient: the remainder to go with it, r = u - (q1 + 1) * d, is given by
 *
 *	B * r = s * high + (B - d) * low + d * q0 - d * B.
 *
 * Nothing but the last term is negative: r >= -d, and r > q0 - B. From s <= d,
 * high < d and low < B follows r < ((B - d) * (B - d) + d * q0) / B, a mean of
 * B - d and q0, hence r < max(B - d, q0). And r modulo B is at hand. There are
 * three cases:
 *	r < 0: then r + B > q0; r + d is the remainder.
 *	0 <= r <= q0: then r < B <= 2 * d; r or r - d is the remainder.
 *	r > q0 and r >= 0: then r < B - d <= d; r is the remainder. It looks like
 *	the first case, but r + d, which is less than B, loses d again below.
 *
 * Return: the quotient; the remainder goes to @rest.
 */
static limb_t moller_granlund_div(limb_t *rest, limb_t high, limb_t low)
{
	limb_t q0, q1, back;

	q0 = limb_mul(&q1, CHUNK_RECIPROCAL, high);
	q0 += low;
	q1 += high + (q0 < low);
	q1++; /* may wrap around to 0, and then comes back */
	low -= q1 * CHUNK;
	/* As likely as not, hence no branch: no CPU predicts it. */
	back = low > q0;
	q1 -= back;
	low = back ? low + CHUNK : low;
	if (low >= CHUNK) {
		q1++;
		low -= CHUNK;
	}
	*rest = low;
	return q1;
}

/*
 * a[] /= CHUNK.
 *
 * Return: the remainder.
 */
static limb_t limbs_div_chunk(limb_t *a, size_t size)
{
	limb_t rest = 0;

	for (size_t i = size; i-- > 0;)
		a[i] = moller_granlund_div(&rest, rest, a[i]);
	return rest;
}

/*
 * How many digits a chunk has without leading zeros, but at least 1. As below, the
 * divisions are plain ones of 64 bits, which do not link on a 32-bit kernel.
 */
static unsigned int chunk_width(limb_t chunk)
{
	unsigned int width = 1;

	while (chunk /= 10)
		width++;
	return width;
}

/* Writes @width digits of a chunk, from the last one back. */
static void chunk_digits(char *digits, unsigned int width, limb_t chunk)
{
	while (width--) {
		digits[width] = '0' + chunk % 10;
		chunk /= 10;
	}
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	struct bignum *a;
	size_t left; /* limbs of what is still to be divided */
	size_t first = size; /* the digits found are digits[first] to the end */
	ssize_t ret;

	a = bn_create(call, f->big->size);
	if (IS_ERR(a))
		return PTR_ERR(a);
	ret = bn_copy(a, f->big);
	if (ret)
		goto free_a;
	left = a->size;
	do {
		unsigned int width;
		limb_t chunk;

		ret = fib_account_work(call, left);
		if (ret)
			goto free_a;
		chunk = limbs_div_chunk(a->limb, left);
		if (!a->limb[left - 1])
			left--;
		/* The first chunk of the number is the only one cut short. */
		width = left ? CHUNK_DIGITS : chunk_width(chunk);
		if (width > first) {
			ret = -ERANGE;
			goto free_a;
		}
		first -= width;
		chunk_digits(digits + first, width, chunk);
	} while (left);

	ret = size - first;
	memmove(digits, digits + first, ret);
free_a:
	bn_free(a);
	return ret;
}
