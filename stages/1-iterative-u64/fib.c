// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * F(n) one after the other: n additions of 64-bit words.
 *
 * F(93) is the last that fits: F(93) < 2^64 < F(94). On the way to F(93) the
 * word b becomes F(94) modulo 2^64. That does no harm: the sums are all taken
 * modulo 2^64, so that a is F(n) modulo 2^64 at the end, which is F(n) itself.
 */
#include "stage.h"

typedef u64 limb_t;

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	limb_t a = 0, b = 1; /* F(i) and F(i + 1) */

	for (u64 i = 0; i < n; i++) {
		limb_t sum = a + b;

		a = b;
		b = sum;
	}
	f->word = a;
	return 0;
}

size_t fib_limbs(const union fib_value *f)
{
	return 1;
}

void fib_release(union fib_value *f)
{
}
