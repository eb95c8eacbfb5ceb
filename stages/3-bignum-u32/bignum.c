// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Natural numbers of any size. Every operation returns a new number, which the
 * caller must free, or an ERR_PTR: -ENOMEM or -EINTR. Operands do not change,
 * and both may be the same number.
 *
 * Knuth, "The Art of Computer Programming", volume 2, 4.3.1, has the algorithms
 * up to stage 7. GMP's mpn functions use limbs, its mpz functions numbers.
 */
#include "bignum.h"

/* B is one more than the largest limb: 2^LIMB_BITS. */

/*
 * c[] = a[] + b[], where a_size >= b_size and c has a_size limbs.
 *
 * Return: the carry out of the top limb, 0 or 1.
 */
static limb_t limbs_add(limb_t *c, const limb_t *a, size_t a_size,
			const limb_t *b, size_t b_size)
{
	limb_t carry = 0;
	size_t i;

	fib_assert(a_size >= b_size);
	for (i = 0; i < b_size; i++) {
		dlimb_t sum = (dlimb_t)a[i] + b[i] + carry;

		c[i] = sum;
		carry = sum >> LIMB_BITS;
	}
	for (; i < a_size; i++) {
		dlimb_t sum = (dlimb_t)a[i] + carry;

		c[i] = sum;
		carry = sum >> LIMB_BITS;
	}
	return carry;
}

/*
 * c[] = B^c_size - b[], the two's complement: every bit inverted, plus 1.
 * c_size >= b_size.
 */
static void limbs_complement(limb_t *c, size_t c_size, const limb_t *b,
			     size_t b_size)
{
	limb_t carry = 1;

	fib_assert(c_size >= b_size);
	for (size_t i = 0; i < c_size; i++) {
		limb_t inverted = ~(i < b_size ? b[i] : 0);

		c[i] = inverted + carry;
		carry = carry && !c[i];
	}
}

/*
 * c[] = a[] * 2^shift, 0 <= shift < LIMB_BITS.
 *
 * Return: the bits shifted out of the top limb.
 */
static limb_t limbs_lshift(limb_t *c, const limb_t *a, size_t size,
			   unsigned int shift)
{
	limb_t top = (dlimb_t)a[size - 1] << shift >> LIMB_BITS;

	for (size_t i = size - 1; i > 0; i--) {
		dlimb_t two = (dlimb_t)a[i] << LIMB_BITS | a[i - 1];

		c[i] = two << shift >> LIMB_BITS;
	}
	c[0] = a[0] << shift;
	return top;
}

/* Remove leading zeros. */
static struct bignum *bn_trim(struct bignum *a)
{
	while (a->size > 1 && !a->limb[a->size - 1])
		a->size--;
	return a;
}

/**
 * bn_create() - create a number, with all limbs zero
 * @call: the account for its memory and its work
 * @size: number of limbs, at least 1
 *
 * The number may use fewer limbs later; its capacity stays @size limbs.
 *
 * Return: the number, which is 0 until its limbs are set, or ERR_PTR(-ENOMEM).
 */
struct bignum *bn_create(struct fib_call *call, size_t size)
{
	struct bignum *a = fib_alloc(call, 1, sizeof(*a));

	if (!a)
		return ERR_PTR(-ENOMEM);
	a->limb = fib_alloc(call, size, sizeof(*a->limb));
	if (!a->limb)
		goto free_number;
	memset(a->limb, 0, size * sizeof(*a->limb));
	a->size = size;
	a->call = call;
	return a;

free_number:
	fib_free(a);
	return ERR_PTR(-ENOMEM);
}

/**
 * bn_free() - free a number
 * @a: the number; may be NULL, but must not be an ERR_PTR
 */
void bn_free(struct bignum *a)
{
	if (!a)
		return;
	fib_free(a->limb);
	fib_free(a);
}

/**
 * bn_dup() - copy a number
 * @a: the number to copy
 */
struct bignum *bn_dup(const struct bignum *a)
{
	struct bignum *c = bn_create(a->call, a->size);

	if (IS_ERR(c))
		return c;
	memcpy(c->limb, a->limb, a->size * sizeof(*a->limb));
	return c;
}

/**
 * bn_add() - a + b
 * @a: a number
 * @b: a number
 */
struct bignum *bn_add(const struct bignum *a, const struct bignum *b)
{
	struct bignum *c;

	if (a->size < b->size)
		swap(a, b);
	c = bn_create(a->call, a->size + 1);
	if (IS_ERR(c))
		return c;
	c->limb[a->size] =
		limbs_add(c->limb, a->limb, a->size, b->limb, b->size);
	return bn_trim(c);
}

/**
 * bn_sub() - a - b
 * @a: a number
 * @b: a number, no larger than @a
 *
 * By two's complement: a - b = a + (B^m - b) - B^m, where a has m limbs. As
 * a >= b, the sum a + (B^m - b) is at least B^m (unless b is 0). B^m is the
 * carry, which is dropped.
 */
struct bignum *bn_sub(const struct bignum *a, const struct bignum *b)
{
	struct bignum *c, *complement;
	limb_t carry;

	fib_assert(a->size >= b->size);
	complement = bn_create(a->call, a->size);
	if (IS_ERR(complement))
		return complement;
	limbs_complement(complement->limb, a->size, b->limb, b->size);
	c = bn_create(a->call, a->size);
	if (IS_ERR(c))
		goto free_complement;
	carry = limbs_add(c->limb, a->limb, a->size, complement->limb, a->size);
	fib_assert(carry || bn_is_zero(b));
	bn_trim(c);

free_complement:
	bn_free(complement);
	return c;
}

/**
 * bn_lshift() - a * 2^bits
 * @a: a number
 * @bits: number of bits to shift by
 */
struct bignum *bn_lshift(const struct bignum *a, size_t bits)
{
	size_t limbs = bits / LIMB_BITS;
	unsigned int shift = bits % LIMB_BITS;
	struct bignum *c = bn_create(a->call, a->size + limbs + 1);

	if (IS_ERR(c))
		return c;
	c->limb[a->size + limbs] =
		limbs_lshift(c->limb + limbs, a->limb, a->size, shift);
	return bn_trim(c);
}

/* Free @old, from which @new was computed; @new may be an ERR_PTR. */
static struct bignum *bn_replace(struct bignum *old, struct bignum *new)
{
	bn_free(old);
	return new;
}

/**
 * bn_mul() - a * b
 * @a: a number
 * @b: a number
 *
 * Bit by bit, from the top bit of a down: for each bit the product doubles,
 * and where the bit is 1 it grows by b.
 */
struct bignum *bn_mul(const struct bignum *a, const struct bignum *b)
{
	struct bignum *c;
	int err;

	if (bn_is_zero(a))
		return bn_create(a->call, 1);
	c = bn_dup(b); /* for the top bit, which is 1 */
	if (IS_ERR(c))
		return c;
	for (size_t i = bn_bits(a) - 1; i-- > 0;) {
		err = fib_account_work(a->call, c->size + b->size);
		if (err)
			goto free_product;
		c = bn_replace(c, bn_lshift(c, 1));
		if (IS_ERR(c))
			return c;
		if (!bn_bit(a, i))
			continue;
		c = bn_replace(c, bn_add(c, b));
		if (IS_ERR(c))
			return c;
	}
	return c;

free_product:
	bn_free(c);
	return ERR_PTR(err);
}

/**
 * bn_square() - a * a
 * @a: a number
 */
struct bignum *bn_square(const struct bignum *a)
{
	return bn_mul(a, a);
}
