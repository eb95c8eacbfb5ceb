// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * F(n) by fast doubling: one step for each bit of n, from the top bit down.
 *
 *	F(2k)     = F(k) * (2 * F(k + 1) - F(k))
 *	F(2k + 1) = F(k)^2 + F(k + 1)^2
 *
 * F(93) is the largest that fits: F(93) < 2^64 < F(94). Numbers larger than
 * F(n) occur in the computation, truncated to 64 bits. This is harmless,
 * because all sums, differences and products are modulo 2^64, so a is F(n)
 * modulo 2^64 at the end, which is F(n) itself.
 */
#include "stage.h"

typedef u64 limb_t;

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	limb_t a = 0,
	       b = 1; /* F(k) and F(k + 1); k consists of top bits of n */
	/* The top bit of n; n | 1 because clz is undefined for 0. */
	int top = 63 - __builtin_clzll(n | 1);

	for (int i = top; i >= 0; i--) {
		limb_t c = a * (2 * b - a);
		limb_t d = a * a + b * b;

		if (n >> i & 1) {
			a = d;
			b = c + d;
		} else {
			a = c;
			b = d;
		}
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
