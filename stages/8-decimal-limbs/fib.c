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

/* F(LIMB_N) fits into a limb. */
#define LIMB_N 86

/*
 * F(k) and F(k + 1) while both fit into one limb, by the loop of stage 2; k is made
 * of the top bits of n. A step from k leads to F(2k + 2) at most.
 *
 * Return: how many bits of n are left, the last one among them.
 */
static int begin_with_limbs(limb_t *a, limb_t *b, u64 n)
{
	/* How many bits n has; n | 1 because there is no clz of 0. */
	int bits = 64 - __builtin_clzll(n | 1);
	limb_t x = 0, y = 1;
	u64 k = 0;

	while (bits > 1 && 2 * k + 2 <= LIMB_N) {
		limb_t even = x * (2 * y - x), odd = x * x + y * y;

		bits--;
		k = n >> bits;
		x = k & 1 ? odd : even;
		y = k & 1 ? even + odd : odd;
	}
	*a = x;
	*b = y;
	return bits;
}

/* c = F(2k), from a = F(k) and b = F(k + 1); t is scratch. */
static int fib_even(struct bignum *c, const struct bignum *a,
		    const struct bignum *b, struct bignum *t)
{
	bn_add(c, b, b);
	bn_sub(t, c, a);
	return bn_mul(c, a, t);
}

/* d = F(2k + 1), from a = F(k) and b = F(k + 1); t is scratch. */
static int fib_odd(struct bignum *d, const struct bignum *a,
		   const struct bignum *b, struct bignum *t)
{
	int err;

	err = bn_square(d, a);
	if (err)
		return err;
	err = bn_square(t, b);
	if (err)
		return err;
	bn_add(d, d, t);
	return 0;
}

/*
 * Limbs enough for any number on the way to F(n).
 *
 * The largest is F(n). (All others are sums, differences and products that lead
 * to it. Twice F(k + 1) leads down again, but is no more than F(k + 3), hence
 * than F(2k), if k >= 3, and else it is no more than 4. F(k + 1) is no more than
 * F(2k), if k >= 1, and else it is 1.)
 *
 * F(n) <= phi^n, and phi^86 < B, since phi^86 + phi^-86 is the Lucas number
 * L(86) = 939587134549734843, and B = 10^18. So F(n) < B^(n / 86), rounded up to
 * whole limbs: at most n / 86 + 1 of them.
 *
 * One more, because a product takes the limbs of both factors while it is made,
 * the top one of which may turn out to be 0; not more than one, since factors of
 * s and t limbs are at least B^(s - 1) and B^(t - 1).
 *
 * A plain 64-bit division, which does not link on a 32-bit kernel.
 */
static size_t limbs_needed(u64 n)
{
	return n / 86 + 2;
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	struct bignum *number; /* all there are, in one block */
	struct bignum *a, *b; /* F(k) and F(k + 1), k being the bits so far */
	struct bignum *c, *d; /* the two that follow from them */
	struct bignum *t; /* scratch */
	int bits, err;

	number = bn_create(call, 5, limbs_needed(n));
	if (IS_ERR(number))
		return PTR_ERR(number);
	a = &number[0];
	b = &number[1];
	c = &number[2];
	d = &number[3];
	t = &number[4];

	bits = begin_with_limbs(a->limb, b->limb, n);
	for (int i = bits - 1; i > 0; i--) {
		err = fib_even(c, a, b, t);
		if (err)
			goto free_numbers;
		err = fib_odd(d, a, b, t);
		if (err)
			goto free_numbers;
		if (n & 1ULL << i) {
			bn_add(c, c, d);
			swap(c, d);
		}
		swap(a, c);
		swap(b, d);
	}
	err = n & 1 ? fib_odd(c, a, b, t) : fib_even(c, a, b, t);
	if (err)
		goto free_numbers;
	/* The block is freed by the first of its numbers. */
	if (c != number)
		bn_swap(c, number);
	f->big = number;
	return 0;

free_numbers:
	bn_free(number);
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
