// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * F(n) by pairs of Lucas numbers: one step for each bit of n except the last
 * one, from the top bit down. L(0) = 2, L(1) = 1, and each further Lucas number
 * is the sum of the two before it. F and L are the Lucas sequences U and V for
 * P = 1 and Q = -1, and these steps are the Lucas chain: Crandall and
 * Pomerance, "Prime Numbers", 3.6.
 *
 *	L(2k)     = L(k)^2 - 2 * (-1)^k
 *	L(2k + 2) = L(k + 1)^2 + 2 * (-1)^k
 *	L(2k + 1) = L(2k + 2) - L(2k)
 *
 * A step needs two squares; a step with Fibonacci numbers needs a product, too.
 * The last step converts back to Fibonacci numbers:
 *
 *	5 * F(k)     = 2 * L(k + 1) - L(k)
 *	5 * F(k + 1) = 2 * L(k) + L(k + 1)
 *	F(2k)        = L(k) * F(k)
 *	F(2k + 1)    = L(k) * F(k + 1) - (-1)^k
 */
#include "bignum.h"

/* L(LIMB_N) fits into a limb. */
#define LIMB_N 86

/*
 * Compute L(k) and L(k + 1) while each fits in one limb. k is made of the top
 * bits of n. A step from k leads to L(2k + 2) at most.
 *
 * Return: the number of bits of n that are left, including the last one.
 */
static int begin_with_limbs(limb_t *a, limb_t *b, u64 n)
{
	/* The number of bits of n; n | 1, because clz is undefined for 0. */
	int bits = 64 - __builtin_clzll(n | 1);
	limb_t x = 2, y = 1;
	u64 k = 0;

	while (bits > 1 && 2 * k + 2 <= LIMB_N) {
		limb_t two = k & 1 ? -2 : 2;
		limb_t even = x * x - two, next = y * y + two;

		bits--;
		k = n >> bits;
		x = k & 1 ? next - even : even;
		y = k & 1 ? next : next - even;
	}
	*a = x;
	*b = y;
	return bits;
}

/* c = a^2 - 2 or, if not @minus, a^2 + 2: L(2k) or L(2k + 2). */
static int lucas_double(struct bignum *c, const struct bignum *a, bool minus)
{
	int err;

	err = bn_square(c, a);
	if (err)
		return err;
	if (minus)
		bn_decrease(c, 2);
	else
		bn_increase(c, 2);
	return 0;
}

/* c = F(2k) or, if n is odd, F(2k + 1), from a = L(k) and b = L(k + 1) */
static int fib_from_lucas(struct bignum *c, const struct bignum *a,
			  const struct bignum *b, struct bignum *t, u64 n)
{
	int err;

	if (n & 1) {
		bn_add(t, a, a);
		bn_add(t, t, b);
	} else {
		bn_add(t, b, b);
		bn_sub(t, t, a);
	}
	bn_div5(t, t);
	err = bn_mul(c, a, t);
	if (err || !(n & 1))
		return err;
	if (n & 2)
		bn_increase(c, 1);
	else
		bn_decrease(c, 1);
	return 0;
}

/*
 * Return a capacity for every number in the computation of F(n).
 *
 * phi^86 < B, since phi^86 + phi^-86 is the Lucas number
 * L(86) = 939587134549734843, and B = 10^18. F(n) <= phi^n < B^(n / 86), which
 * fits into n / 86 + 1 limbs; the quotient is rounded down. All earlier numbers
 * are at most L(n / 2 + 2) + 2 or 3 L(n / 2 + 1), and so less than
 * 8 * phi^(n / 2). They need at most as many limbs, or one more if n < 86.
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
	struct bignum *a, *b; /* L(k), L(k + 1); k consists of top bits of n */
	struct bignum *c, *d; /* the two numbers of the next k */
	int bits, err;

	number = bn_create(call, 4, limbs_needed(n));
	if (IS_ERR(number))
		return PTR_ERR(number);
	a = &number[0];
	b = &number[1];
	c = &number[2];
	d = &number[3];

	bits = begin_with_limbs(a->limb, b->limb, n);
	for (int i = bits - 1; i > 0; i--) {
		bool odd = n & 2ULL << i; /* true if k is odd */

		err = lucas_double(c, a, !odd);
		if (err)
			goto free_numbers;
		err = lucas_double(d, b, odd);
		if (err)
			goto free_numbers;
		if (n & 1ULL << i) {
			bn_sub(a, d, c);
			swap(b, d);
		} else {
			bn_sub(b, d, c);
			swap(a, c);
		}
	}
	err = fib_from_lucas(c, a, b, d, n);
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
