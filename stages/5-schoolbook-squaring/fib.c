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
#define LIMB_N 47

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
	int err;

	err = bn_lshift(c, b, 1);
	if (err)
		return err;
	err = bn_sub(t, c, a);
	if (err)
		return err;
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
	return bn_add(d, d, t);
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	struct bignum *a, *b; /* F(k), F(k + 1); k consists of top bits of n */
	struct bignum *c, *d; /* the two numbers of the next k */
	struct bignum *t; /* scratch */
	int bits, err;

	a = bn_create(call, 1);
	if (IS_ERR(a))
		return PTR_ERR(a);
	b = bn_create(call, 1);
	if (IS_ERR(b)) {
		err = PTR_ERR(b);
		goto free_a;
	}
	c = bn_create(call, 1);
	if (IS_ERR(c)) {
		err = PTR_ERR(c);
		goto free_b;
	}
	d = bn_create(call, 1);
	if (IS_ERR(d)) {
		err = PTR_ERR(d);
		goto free_c;
	}
	t = bn_create(call, 1);
	if (IS_ERR(t)) {
		err = PTR_ERR(t);
		goto free_d;
	}

	bits = begin_with_limbs(a->limb, b->limb, n);
	for (int i = bits - 1; i > 0; i--) {
		err = fib_even(c, a, b, t);
		if (err)
			goto free_t;
		err = fib_odd(d, a, b, t);
		if (err)
			goto free_t;
		if (n & 1ULL << i) {
			err = bn_add(c, c, d);
			if (err)
				goto free_t;
			swap(c, d);
		}
		swap(a, c);
		swap(b, d);
	}
	err = n & 1 ? fib_odd(c, a, b, t) : fib_even(c, a, b, t);
	if (err)
		goto free_t;
	f->big = c;
	c = NULL; /* the caller owns it now */

free_t:
	bn_free(t);
free_d:
	bn_free(d);
free_c:
	bn_free(c);
free_b:
	bn_free(b);
free_a:
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
