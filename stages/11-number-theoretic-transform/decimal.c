// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Print the decimal digits of a number, whose limbs are already decimal.
 */
#include "bignum.h"

/* The cost of printing a limb, in products of two limbs. */
#define LIMB_WORK 16
/* Limbs between two calls of fib_account_work. */
#define LIMBS_AT_ONCE 1024

#define HALF 1000000000ULL
#define HALF_DIGITS (LIMB_DIGITS / 2)

static const char pairs[] = "00010203040506070809"
			    "10111213141516171819"
			    "20212223242526272829"
			    "30313233343536373839"
			    "40414243444546474849"
			    "50515253545556575859"
			    "60616263646566676869"
			    "70717273747576777879"
			    "80818283848586878889"
			    "90919293949596979899";

/*
 * Write the nine digits of half a limb, x.
 *
 * x / 10^8 is computed as a fixed-point number with 32 fraction bits. Its
 * integer part is the first digit. Each product of the fraction with 100 has
 * the next two digits as its integer part, exactly. The number may be too large
 * by less than one unit of the last digit, 2^32 / 10^8 > 42.9, but not too
 * small.
 *
 * SCALE is 2^57 / 10^8 rounded up, which is too large by less than 1:
 *
 *	python3 -c 'print(2**57 // 10**8 + 1)'
 *
 * As x < 10^9 < 2^30, this makes the number too large by less than 2^5. The
 * shift rounds down, and the + 1 compensates for that: together less than 33.
 */
static inline void half_digits(char *digits, u64 half)
{
	const u64 SCALE = 1441151881;
	u64 fraction = (half * SCALE >> 25) + 1;

	digits[0] = '0' + (fraction >> 32);
#pragma GCC unroll 4
	for (int i = 1; i < HALF_DIGITS; i += 2) {
		fraction = (u64)(u32)fraction * 100;
		/* The builtin is inlined; a plain memcpy may be a call. */
		__builtin_memcpy(digits + i, pairs + 2 * (fraction >> 32), 2);
	}
}

/* Write eighteen digits, by plain 64-bit divisions. */
static inline void limb_digits(char *digits, limb_t limb)
{
	half_digits(digits, limb / HALF);
	half_digits(digits + HALF_DIGITS, limb % HALF);
}

/* Return the number of digits of a limb without leading zeros, at least 1. */
static size_t limb_width(const char *digits)
{
	size_t zeros = 0;

	while (zeros < LIMB_DIGITS - 1 && digits[zeros] == '0')
		zeros++;
	return LIMB_DIGITS - zeros;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	const struct bignum *a = f->big;
	char first[LIMB_DIGITS];
	size_t width, total;
	int err;

	/* Only the first limb is written without leading zeros. */
	limb_digits(first, a->limb[a->size - 1]);
	width = limb_width(first);
	total = width + (a->size - 1) * LIMB_DIGITS;
	if (total > size)
		return -ERANGE;
	memcpy(digits, first + LIMB_DIGITS - width, width);
	digits += width;
	for (size_t i = a->size - 1; i-- > 0;) {
		if (i % LIMBS_AT_ONCE == 0) {
			err = fib_account_work(call, LIMBS_AT_ONCE * LIMB_WORK);
			if (err)
				return err;
		}
		limb_digits(digits, a->limb[i]);
		digits += LIMB_DIGITS;
	}
	return total;
}
