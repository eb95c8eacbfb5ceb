// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Decimal digits of a number, by chunks: divided by 10^9 again and again, its
 * remainders are nine digits each, the last ones first.
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
		 * Less than CHUNK * B, as rest < CHUNK: the quotient fits. A
		 * plain 64-bit division does not link on a 32-bit kernel,
		 * which has div_u64_rem() for it.
		 */
		dlimb_t two = (dlimb_t)rest << LIMB_BITS | a[i];

		a[i] = two / CHUNK;
		rest = two % CHUNK;
	}
	return rest;
}

/* How many digits a chunk has without leading zeros, but at least 1. */
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
