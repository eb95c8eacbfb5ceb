// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * F(n) by fast doubling: one step for each bit of n, from the top bit down.
 *
 *	F(2k)     = F(k) * (2 * F(k + 1) - F(k))
 *	F(2k + 1) = F(k)^2 + F(k + 1)^2
 *
 * The last step computes only F(n). In each step the numbers become twice as
 * long, and a product takes four times as long, so the last step is three
 * quarters of the work. Leaving out half of it saves three eighths.
 */
#include "bignum.h"

/* F(LIMB_N) fits into a limb. */
#define LIMB_N 86

/*
 * Compute F(k) and F(k + 1) while each fits in a limb, by the loop of stage 2.
 * k is made of the top bits of n. A step from k leads to F(2k + 2) at most.
 *
 * Return: the number of bits of n that are left, including the last one.
 */
static int begin_with_limbs(limb_t *a, limb_t *b, u64 n)
{
	/* The number of bits of n; n | 1, because clz is undefined for 0. */
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
 * Return a capacity for every number in the computation of F(n).
 *
 * The largest number is F(n). (Sums and products only grow. A difference
 * follows 2 F(k + 1), which is at most F(k + 3), and so at most F(2k), if
 * k >= 3; for smaller k it is at most 4. F(k + 1) is at most F(2k) if k >= 1;
 * for k = 0 it is 1.)
 *
 * F(n) <= phi^n, and phi^86 < B, since phi^86 + phi^-86 is the Lucas number
 * L(86) = 939587134549734843, and B = 10^18. So F(n) < B^(n / 86), which fits
 * into n / 86 + 1 limbs; the quotient is rounded down.
 *
 * One more limb, because a product needs the limbs of both factors while it is
 * computed, even if its top limb is then 0. One more limb is enough, because
 * factors of s and t limbs are at least B^(s - 1) and B^(t - 1).
 *
 * This plain 64-bit division does not link on a 32-bit kernel.
 */
static size_t limbs_needed(u64 n)
{
	return n / 86 + 2;
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	struct bignum *number; /* all numbers are in one block */
	struct bignum *a, *b; /* F(k), F(k + 1); k consists of top bits of n */
	struct bignum *c, *d; /* the two numbers of the next k */
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
	/* The first number frees the whole block. */
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
