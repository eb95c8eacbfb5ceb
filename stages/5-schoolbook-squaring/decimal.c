// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Convert a number to decimal by chunks: divide it by 10^9 again and again.
 * Each remainder has nine digits, and the last nine come first.
 */
#include "bignum.h"

/* The largest power of ten in a limb. */
#define CHUNK 1000000000
#define CHUNK_DIGITS 9

/*
 * a[] /= CHUNK.
 *
 * Return: the remainder.
 */
static limb_t limbs_div_chunk(limb_t *a, size_t size)
{
	limb_t rest = 0;

	for (size_t i = size; i-- > 0;) {
		/*
		 * rest < CHUNK, so the quotient fits into a limb. A plain
		 * 64-bit division does not link on a 32-bit kernel, which has
		 * div_u64_rem() for it.
		 */
		dlimb_t two = (dlimb_t)rest << LIMB_BITS | a[i];

		a[i] = two / CHUNK;
		rest = two % CHUNK;
	}
	return rest;
}

/* Return the number of digits of a chunk without leading zeros, at least 1. */
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
	size_t first = size; /* digits from this index on are known */
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
