// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * F(n) by fast doubling: one step for each bit of n, from the top bit down.
 *
 *	F(2k)     = F(k) * (2 * F(k + 1) - F(k))
 *	F(2k + 1) = F(k)^2 + F(k + 1)^2
 *
 * Of the last step only one half is made, since F(n) is all that is asked for.
 * Numbers double in length from step to step, and their products quadruple: the
 * last step is three quarters of the work, its half three eighths.
 */
#include "bignum.h"

/* c = F(2k), from a = F(k) and b = F(k + 1); t is scratch. */
static int fib_even(struct bignum *c, const struct bignum *a,
		    const struct bignum *b, struct bignum *t)
{
	return bn_lshift(c, b, 1) ?: bn_sub(t, c, a) ?: bn_mul(c, a, t);
}

/* d = F(2k + 1), from a = F(k) and b = F(k + 1); t is scratch. */
static int fib_odd(struct bignum *d, const struct bignum *a,
		   const struct bignum *b, struct bignum *t)
{
	return bn_square(d, a) ?: bn_square(t, b) ?: bn_add(d, d, t);
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	/* F(k) and F(k + 1), k being the bits so far */
	struct bignum *a = bn_create(call, 1);
	struct bignum *b = bn_create(call, 1);
	/* the two that follow from them */
	struct bignum *c = bn_create(call, 1);
	struct bignum *d = bn_create(call, 1);
	struct bignum *t = bn_create(call, 1); /* scratch */
	/* How many bits n has; n | 1 because there is no clz of 0. */
	int bits = 64 - __builtin_clzll(n | 1);
	int err = -ENOMEM;

	if (!a || !b || !c || !d || !t)
		goto free_all;
	b->limb[0] = 1;

	for (int i = bits - 1; i > 0; i--) {
		err = fib_even(c, a, b, t) ?: fib_odd(d, a, b, t);
		if (err)
			goto free_all;
		if (n & 1ULL << i) {
			err = bn_add(c, c, d);
			if (err)
				goto free_all;
			bn_swap(c, d);
		}
		bn_swap(a, c);
		bn_swap(b, d);
	}
	err = n & 1 ? fib_odd(c, a, b, t) : fib_even(c, a, b, t);
	if (err)
		goto free_all;
	f->big = c;
	c = NULL;

free_all:
	bn_free(t);
	bn_free(d);
	bn_free(c);
	bn_free(b);
	bn_free(a);
	return err;
}

size_t fib_limbs(const union fib_value *f)
{
	return f->big->size;
}

void fib_release(union fib_value *f)
{
	bn_free(f->big);
}
