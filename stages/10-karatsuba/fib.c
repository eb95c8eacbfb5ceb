// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * F(n) by pairs of Lucas numbers: one step for each bit of n but the last, from
 * the top bit down. L(0) = 2, L(1) = 1, and from there on as Fibonacci numbers. F
 * and L are the Lucas sequences U and V for P = 1 and Q = -1, and these steps are
 * the Lucas chain: Crandall and Pomerance, "Prime Numbers", 3.6.
 *
 *	L(2k)     = L(k)^2 - 2 * (-1)^k
 *	L(2k + 2) = L(k + 1)^2 + 2 * (-1)^k
 *	L(2k + 1) = L(2k + 2) - L(2k)
 *
 * A step is two squares, where Fibonacci pairs need a product more. The last
 * step leads back:
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
 * L(k) and L(k + 1) while both fit into one limb; k is made of the top bits of n. A
 * step from k leads to L(2k + 2) at most.
 *
 * Return: how many bits of n are left, the last one among them.
 */
static int begin_with_limbs(limb_t *a, limb_t *b, u64 n)
{
	/* How many bits n has; n | 1 because there is no clz of 0. */
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
 * Limbs enough for any number on the way to F(n).
 *
 * phi^86 < B, since phi^86 + phi^-86 is the Lucas number
 * L(86) = 939587134549734843, and B = 10^18. F(n) <= phi^n, which is less than
 * B^(n / 86), rounded up to whole limbs: at most n / 86 + 1 of them. The largest
 * number before that is at most L(n / 2 + 2) + 2, or three times L(n / 2 + 1):
 * less than 8 * phi^(n / 2), which takes as many limbs, or one more if n < 86.
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
	struct bignum *a, *b; /* L(k) and L(k + 1), k being the bits so far */
	struct bignum *c, *d; /* the two that follow from them */
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
		bool odd = n & 2ULL << i; /* k */

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
