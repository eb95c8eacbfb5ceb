// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Convert a number to decimal by chunks: divide it by 10^19 again and again.
 * Each remainder has nineteen digits, and the last nineteen come first.
 */
#include "bignum.h"

/* The largest power of ten in a limb. */
#define CHUNK 10000000000000000000ULL
#define CHUNK_DIGITS 19
/* CHUNK's reciprocal: (B^2 - 1) / CHUNK - B, rounded down; B = 2^LIMB_BITS. */
#define CHUNK_RECIPROCAL 0xd83c94fb6d2ac34aULL

/*
 * Divide high * B + low by CHUNK, where high < CHUNK, so the quotient is a
 * limb. The division instruction takes up to ten times as long on one CPU as on
 * another. Two multiplications do not, so this is algorithm 4 of Moeller and
 * Granlund, "Improved division by invariant integers", IEEE Transactions on
 * Computers 60 (2011), which GMP calls udiv_qrnnd_preinv.
 *
 * Proof: let u = high * B + low, d = CHUNK, where B / 2 <= d < B, and
 * w = B + CHUNK_RECIPROCAL, so w * d = B^2 - s with 1 <= s <= d. Then
 * w * high + low = q1 * B + q0 is less than B^2, and q1 + 1 is nearly the
 * quotient. The remainder of this quotient, r = u - (q1 + 1) * d, satisfies
 *
 *	B * r = s * high + (B - d) * low + d * q0 - d * B.
 *
 * Only the last term is negative, so r >= -d, and r > q0 - B. From s <= d,
 * high < d and low < B it follows that r < ((B - d) * (B - d) + d * q0) / B, a
 * weighted mean of B - d and q0, so r < max(B - d, q0). The code computes r
 * modulo B. There are three cases:
 *	r < 0: then r + B > q0, and r + d is the remainder.
 *	0 <= r <= q0: then r < B <= 2 * d, and r or r - d is the remainder.
 *	r > q0 and r >= 0: then r < B - d <= d, and r is the remainder. The
 *	code cannot distinguish this from the first case, so it adds d.
 *	But r + d < B, so the second comparison subtracts d again.
 *
 * Return: the quotient. Store the remainder in @rest.
 */
static limb_t moller_granlund_div(limb_t *rest, limb_t high, limb_t low)
{
	limb_t q0, q1, back;

	q0 = limb_mul(&q1, CHUNK_RECIPROCAL, high);
	q0 += low;
	q1 += high + (q0 < low);
	q1++; /* may wrap to 0; then q1 -= back corrects it */
	low -= q1 * CHUNK;
	/* No branch, because no CPU can predict this comparison. */
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
 * Return the number of digits of a chunk without leading zeros, at least 1. The
 * 64-bit divisions here and below do not link on a 32-bit kernel.
 */
static unsigned int chunk_width(limb_t chunk)
{
	unsigned int width = 1;

	while (chunk /= 10)
		width++;
	return width;
}

/* Write @width digits of a chunk, the last digit first. */
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
	size_t left; /* limbs of the number still to be divided */
	size_t first = size; /* digits[first] and all later ones are known */
	ssize_t ret;

	a = bn_create(call, 1, f->big->size);
	if (IS_ERR(a))
		return PTR_ERR(a);
	bn_copy(a, f->big);
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
		/* Only the first chunk is written without leading zeros. */
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
