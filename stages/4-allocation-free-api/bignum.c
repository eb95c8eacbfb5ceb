// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Natural numbers of any size. The result of an operation is stored in c, a
 * number of the caller, which grows if necessary. Operands do not change, and
 * both may be the same number. Each operation states whether c may be an
 * operand.
 *
 * Return: 0, -ENOMEM or -EINTR. After an error the value of c is undefined, and
 * its top limb may be 0.
 */
#include "bignum.h"

/* B is one more than the largest limb: 2^LIMB_BITS. */

/*
 * c[] = a[] + b[], where a_size >= b_size and c has a_size limbs and
 * may be a or b.
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
 * c_size >= b_size; c may be b.
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
 * c[] = a[] * 2^shift, 0 <= shift < LIMB_BITS; c may be a, or begin at a higher
 * address.
 *
 * Return: the bits shifted out of the top limb.
 */
static limb_t limbs_lshift(limb_t *c, const limb_t *a, size_t size,
			   unsigned int shift)
{
	limb_t top = (dlimb_t)a[size - 1] << shift >> LIMB_BITS;

	/* Go down, so that no limb is overwritten before it is read. */
	for (size_t i = size - 1; i > 0; i--) {
		dlimb_t two = (dlimb_t)a[i] << LIMB_BITS | a[i - 1];

		c[i] = two << shift >> LIMB_BITS;
	}
	c[0] = a[0] << shift;
	return top;
}

/* Remove leading zeros. */
static void bn_trim(struct bignum *a)
{
	while (a->size > 1 && !a->limb[a->size - 1])
		a->size--;
}

/* Ensure a capacity of @size limbs. The value of @a does not change. */
static int bn_reserve(struct bignum *a, size_t size)
{
	limb_t *limb;

	if (size <= a->capacity)
		return 0;
	limb = fib_alloc(a->call, size, sizeof(*limb));
	if (!limb)
		return -ENOMEM;
	memcpy(limb, a->limb, a->size * sizeof(*limb));
	fib_free(a->limb);
	a->limb = limb;
	a->capacity = size;
	return 0;
}

/* Append a limb as the new top limb, unless it is 0. */
static int bn_push(struct bignum *a, limb_t top)
{
	int err;

	if (!top)
		return 0;
	err = bn_reserve(a, a->size + 1);
	if (err)
		return err;
	a->limb[a->size++] = top;
	return 0;
}

/**
 * bn_create() - create a number
 * @call: the account for its memory and its work
 * @size: its capacity in limbs, at least 1
 *
 * Return: the number, which is 0, or ERR_PTR(-ENOMEM).
 */
struct bignum *bn_create(struct fib_call *call, size_t size)
{
	struct bignum *a = fib_alloc(call, 1, sizeof(*a));

	if (!a)
		return ERR_PTR(-ENOMEM);
	a->limb = fib_alloc(call, size, sizeof(*a->limb));
	if (!a->limb)
		goto free_number;
	a->limb[0] = 0;
	a->size = 1;
	a->capacity = size;
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
 * bn_copy() - c = a
 * @c: the copy; must not be @a
 * @a: the number to copy
 */
int bn_copy(struct bignum *c, const struct bignum *a)
{
	int err;

	fib_assert(c != a);
	err = bn_reserve(c, a->size);
	if (err)
		return err;
	memcpy(c->limb, a->limb, a->size * sizeof(*a->limb));
	c->size = a->size;
	return 0;
}

/**
 * bn_add() - c = a + b
 * @c: the sum; may be @a or @b
 * @a: a number
 * @b: a number
 */
int bn_add(struct bignum *c, const struct bignum *a, const struct bignum *b)
{
	limb_t carry;
	int err;

	if (a->size < b->size)
		swap(a, b);
	err = bn_reserve(c, a->size);
	if (err)
		return err;
	carry = limbs_add(c->limb, a->limb, a->size, b->limb, b->size);
	c->size = a->size;
	return bn_push(c, carry);
}

/**
 * bn_sub() - c = a - b
 * @c: the difference; may be @b, but must not be @a
 * @a: a number
 * @b: a number, no larger than @a
 *
 * By two's complement: a - b = a + (B^m - b) - B^m, where a has m limbs. As
 * a >= b, the sum a + (B^m - b) is at least B^m (unless b is 0). B^m is the
 * carry, which is dropped. Before the sum, c holds the complement.
 */
int bn_sub(struct bignum *c, const struct bignum *a, const struct bignum *b)
{
	bool b_is_zero = bn_is_zero(b);
	limb_t carry;
	int err;

	fib_assert(a->size >= b->size);
	fib_assert(c != a);
	err = bn_reserve(c, a->size);
	if (err)
		return err;
	limbs_complement(c->limb, a->size, b->limb, b->size);
	carry = limbs_add(c->limb, a->limb, a->size, c->limb, a->size);
	fib_assert(carry || b_is_zero);
	c->size = a->size;
	bn_trim(c);
	return 0;
}

/**
 * bn_lshift() - c = a * 2^bits
 * @c: the product; may be @a
 * @a: a number
 * @bits: number of bits to shift by
 */
int bn_lshift(struct bignum *c, const struct bignum *a, size_t bits)
{
	size_t limbs = bits / LIMB_BITS;
	unsigned int shift = bits % LIMB_BITS;
	limb_t top;
	int err;

	err = bn_reserve(c, a->size + limbs);
	if (err)
		return err;
	top = limbs_lshift(c->limb + limbs, a->limb, a->size, shift);
	memset(c->limb, 0, limbs * sizeof(*c->limb));
	c->size = a->size + limbs;
	err = bn_push(c, top);
	bn_trim(c); /* a may be zero */
	return err;
}

/**
 * bn_mul() - c = a * b
 * @c: the product; must not be @a or @b
 * @a: a number
 * @b: a number
 *
 * Bit by bit, from the top bit of a down: for each bit the product doubles,
 * and where the bit is 1 it grows by b. The doublings up to the next 1 are one
 * shift.
 */
int bn_mul(struct bignum *c, const struct bignum *a, const struct bignum *b)
{
	size_t shift = 0;
	int err;

	fib_assert(c != a && c != b);
	/* A product of m and n limbs has at most m + n limbs. */
	err = bn_reserve(c, a->size + b->size);
	if (err)
		return err;
	if (bn_is_zero(a))
		return bn_copy(c, a);
	err = bn_copy(c, b); /* for the top bit, which is 1 */
	if (err)
		return err;
	for (size_t i = bn_bits(a) - 1; i-- > 0;) {
		shift++;
		if (!bn_bit(a, i))
			continue;
		err = fib_account_work(a->call, c->size + b->size);
		if (err)
			return err;
		err = bn_lshift(c, c, shift);
		if (err)
			return err;
		err = bn_add(c, c, b);
		if (err)
			return err;
		shift = 0;
	}
	return bn_lshift(c, c, shift);
}

/**
 * bn_square() - c = a * a
 * @c: the square; must not be @a
 * @a: a number
 */
int bn_square(struct bignum *c, const struct bignum *a)
{
	return bn_mul(c, a, a);
}
