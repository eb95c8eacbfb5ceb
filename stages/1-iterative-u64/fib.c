// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compute F(n) by a loop: n additions of 64-bit words.
 *
 * F(93) is the largest that fits: F(93) < 2^64 < F(94). In the computation of
 * F(93), b becomes F(94) modulo 2^64. This is harmless, because all sums are
 * modulo 2^64: at the end a is F(n) modulo 2^64, which is F(n) itself.
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
