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

/* F(2k), from a = F(k) and b = F(k + 1). */
static struct bignum *fib_even(const struct bignum *a, const struct bignum *b)
{
	struct bignum *twice, *difference, *c;

	twice = bn_lshift(b, 1);
	if (IS_ERR(twice))
		return twice;
	difference = bn_sub(twice, a);
	if (IS_ERR(difference)) {
		c = difference;
		goto free_twice;
	}
	c = bn_mul(a, difference);

	bn_free(difference);
free_twice:
	bn_free(twice);
	return c;
}

/* F(2k + 1), from a = F(k) and b = F(k + 1). */
static struct bignum *fib_odd(const struct bignum *a, const struct bignum *b)
{
	struct bignum *a2, *b2, *d;

	a2 = bn_square(a);
	if (IS_ERR(a2))
		return a2;
	b2 = bn_square(b);
	if (IS_ERR(b2)) {
		d = b2;
		goto free_a2;
	}
	d = bn_add(a2, b2);

	bn_free(b2);
free_a2:
	bn_free(a2);
	return d;
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	struct bignum *a, *b; /* F(k), F(k + 1); k consists of top bits of n */
	struct bignum *c, *d; /* the two numbers of the next k */
	/* The number of bits of n; n | 1, because clz is undefined for 0. */
	int bits = 64 - __builtin_clzll(n | 1);
	int err;

	a = bn_create(call, 1);
	if (IS_ERR(a))
		return PTR_ERR(a);
	b = bn_create(call, 1);
	if (IS_ERR(b)) {
		err = PTR_ERR(b);
		goto free_a;
	}
	b->limb[0] = 1;

	for (int i = bits - 1; i > 0; i--) {
		c = fib_even(a, b);
		if (IS_ERR(c)) {
			err = PTR_ERR(c);
			goto free_b;
		}
		d = fib_odd(a, b);
		if (IS_ERR(d)) {
			err = PTR_ERR(d);
			goto free_c;
		}
		if (n & 1ULL << i) {
			struct bignum *sum = bn_add(c, d);

			if (IS_ERR(sum)) {
				err = PTR_ERR(sum);
				goto free_d;
			}
			bn_free(c);
			c = d;
			d = sum;
		}
		bn_free(a);
		bn_free(b);
		a = c;
		b = d;
	}
	c = n & 1 ? fib_odd(a, b) : fib_even(a, b);
	if (IS_ERR(c)) {
		err = PTR_ERR(c);
		goto free_b;
	}
	bn_free(b);
	bn_free(a);
	f->big = c;
	return 0;

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
