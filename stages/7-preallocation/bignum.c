// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Natural numbers of any size. The result of an operation is stored in c, a
 * number of the caller with enough capacity. Operands do not change, and both
 * may be the same number. Each operation states whether c may be an operand,
 * and which capacity c needs if that is more than the size of the result.
 *
 * Return, for operations that take long: 0 or -EINTR. After an error the
 * value of c is undefined, and its top limb may be 0.
 */
#include "bignum.h"

/*
 * B is one more than the largest limb: 2^LIMB_BITS. No type can hold the sum of
 * two limbs, so a comparison finds the carry: the sum modulo B is less than
 * each of its terms if, and only if, the sum is B or more.
 */

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
		limb_t ai = a[i] + carry;
		limb_t sum = ai + b[i];

		/* At most one of the two sums carries. */
		carry = (ai < carry) + (sum < ai);
		c[i] = sum;
	}
	for (; i < a_size; i++) {
		c[i] = a[i] + carry;
		carry = c[i] < carry;
	}
	return carry;
}

/*
 * c[] = a[] - b[], where a_size >= b_size and c has a_size limbs and may be a
 * or b.
 *
 * Return: the borrow beyond the top limb, 0 or 1.
 */
static limb_t limbs_sub(limb_t *c, const limb_t *a, size_t a_size,
			const limb_t *b, size_t b_size)
{
	limb_t borrow = 0;
	size_t i;

	fib_assert(a_size >= b_size);
	for (i = 0; i < b_size; i++) {
		limb_t ai = a[i] - borrow;
		limb_t difference = ai - b[i];

		/* At most one of the two differences borrows. */
		borrow = (ai > a[i]) + (difference > ai);
		c[i] = difference;
	}
	for (; i < a_size; i++) {
		limb_t difference = a[i] - borrow;

		borrow = difference > a[i];
		c[i] = difference;
	}
	return borrow;
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
	unsigned int down = LIMB_BITS - 1 - shift;
	/* LIMB_BITS - shift may be LIMB_BITS, so shift down in two steps. */
	limb_t top = a[size - 1] >> 1 >> down;

	/* Go down, so that no limb is overwritten before it is read. */
	for (size_t i = size - 1; i > 0; i--)
		c[i] = a[i] << shift | a[i - 1] >> 1 >> down;
	c[0] = a[0] << shift;
	return top;
}

/*
 * c[] += a[] * factor, where both have @size limbs; c must not be a.
 *
 * Return: the carry beyond the top limb.
 */
static limb_t limbs_addmul(limb_t *c, const limb_t *a, size_t size,
			   limb_t factor)
{
	limb_t carry = 0;

	/* Unrolled, because i++ would take a quarter of the loop's time. */
#pragma GCC unroll 4
	for (size_t i = 0; i < size; i++) {
		limb_t high, low = limb_mul(&high, a[i], factor);

		/*
		 * At most (B - 1)^2 + 2 (B - 1) = B^2 - 1, so high never
		 * overflows. The carry is added last, because only the carry
		 * depends on the limb before.
		 */
		low += c[i];
		high += low < c[i];
		low += carry;
		carry = high + (low < carry);
		c[i] = low;
	}
	return carry;
}

/*
 * c[] += the square of each limb of a[], at twice its index; c has 2 * size
 * limbs, and the sum must fit into them.
 */
static void limbs_add_squares(limb_t *c, const limb_t *a, size_t size)
{
	limb_t carry = 0;

	for (size_t i = 0; i < size; i++) {
		limb_t high, low = limb_mul(&high, a[i], a[i]);

		/* At most B^2 - 1, as in limbs_addmul. */
		low += carry;
		high += low < carry;
		c[2 * i] += low;
		high += c[2 * i] < low;
		c[2 * i + 1] += high;
		carry = c[2 * i + 1] < high;
	}
	fib_assert(!carry);
}

/* Remove leading zeros. */
static void bn_trim(struct bignum *a)
{
	while (a->size > 1 && !a->limb[a->size - 1])
		a->size--;
}

/* Append a limb as the new top limb, unless it is 0. */
static void bn_push(struct bignum *a, limb_t top)
{
	if (!top)
		return;
	fib_assert(a->size < a->capacity);
	a->limb[a->size++] = top;
}

/**
 * bn_create() - create numbers, all in one block
 * @call: the account for their memory and their work
 * @count: how many numbers
 * @size: the capacity of each in limbs, at least 1
 *
 * The block contains first the numbers, then the limbs of each.
 *
 * Return: the first of the numbers, all of which are 0, or ERR_PTR(-ENOMEM).
 */
struct bignum *bn_create(struct fib_call *call, size_t count, size_t size)
{
	struct bignum *a;
	limb_t *limb;

	a = fib_alloc(call, count,
		      size_add(sizeof(*a), array_size(size, sizeof(*limb))));
	if (!a)
		return ERR_PTR(-ENOMEM);
	limb = (limb_t *)(a + count);
	for (size_t i = 0; i < count; i++) {
		a[i].limb = limb + i * size;
		a[i].limb[0] = 0;
		a[i].size = 1;
		a[i].capacity = size;
		a[i].call = call;
	}
	return a;
}

/**
 * bn_free() - free all numbers that were created together
 * @a: the first of these numbers; may be NULL, but must not be an ERR_PTR
 */
void bn_free(struct bignum *a)
{
	fib_free(a);
}

/**
 * bn_swap() - exchange two numbers; their limbs stay where they are
 * @a: a number
 * @b: a number
 */
void bn_swap(struct bignum *a, struct bignum *b)
{
	swap(*a, *b);
}

/**
 * bn_copy() - c = a
 * @c: the copy; must not be @a
 * @a: the number to copy
 */
void bn_copy(struct bignum *c, const struct bignum *a)
{
	fib_assert(c != a);
	fib_assert(c->capacity >= a->size);
	memcpy(c->limb, a->limb, a->size * sizeof(*a->limb));
	c->size = a->size;
}

/**
 * bn_add() - c = a + b
 * @c: the sum; may be @a or @b
 * @a: a number
 * @b: a number
 */
void bn_add(struct bignum *c, const struct bignum *a, const struct bignum *b)
{
	limb_t carry;

	if (a->size < b->size)
		swap(a, b);
	fib_assert(c->capacity >= a->size);
	carry = limbs_add(c->limb, a->limb, a->size, b->limb, b->size);
	c->size = a->size;
	bn_push(c, carry);
}

/**
 * bn_sub() - c = a - b
 * @c: the difference; may be @a or @b; has capacity for as many limbs as @a
 * @a: a number
 * @b: a number, no larger than @a
 */
void bn_sub(struct bignum *c, const struct bignum *a, const struct bignum *b)
{
	limb_t borrow;

	fib_assert(a->size >= b->size);
	fib_assert(c->capacity >= a->size);
	borrow = limbs_sub(c->limb, a->limb, a->size, b->limb, b->size);
	fib_assert(!borrow);
	c->size = a->size;
	bn_trim(c);
}

/**
 * bn_lshift() - c = a * 2^bits
 * @c: the product; may be @a
 * @a: a number
 * @bits: number of bits to shift by
 */
void bn_lshift(struct bignum *c, const struct bignum *a, size_t bits)
{
	size_t limbs = bits / LIMB_BITS;
	unsigned int shift = bits % LIMB_BITS;
	limb_t top;

	fib_assert(c->capacity >= a->size + limbs);
	top = limbs_lshift(c->limb + limbs, a->limb, a->size, shift);
	memset(c->limb, 0, limbs * sizeof(*c->limb));
	c->size = a->size + limbs;
	bn_push(c, top);
	bn_trim(c); /* a may be zero */
}

/**
 * bn_mul() - c = a * b
 * @c: the product; must not be @a or @b; has capacity for the limbs of both
 * @a: a number
 * @b: a number
 *
 * Schoolbook multiplication: a row of products for each limb of a.
 */
int bn_mul(struct bignum *c, const struct bignum *a, const struct bignum *b)
{
	size_t size = b->size;
	int err;

	fib_assert(c != a && c != b);
	fib_assert(c->capacity >= a->size + size);
	if (a->size == 1 && size == 1) {
		c->limb[0] = limb_mul(&c->limb[1], a->limb[0], b->limb[0]);
		c->size = c->limb[1] ? 2 : 1;
		return 0;
	}
	memset(c->limb, 0, size * sizeof(*c->limb));
	for (size_t i = 0; i < a->size; i++) {
		err = fib_account_work(a->call, size);
		if (err)
			return err;
		c->limb[i + size] =
			limbs_addmul(c->limb + i, b->limb, size, a->limb[i]);
	}
	c->size = a->size + size;
	bn_trim(c);
	return 0;
}

/**
 * bn_square() - c = a * a
 * @c: the square; must not be @a; has capacity for twice as many limbs
 * @a: a number
 *
 * By symmetry: each product of two different limbs occurs twice, so only half
 * of these products are computed, and then doubled. The product of a limb with
 * itself, on the diagonal, occurs once.
 */
int bn_square(struct bignum *c, const struct bignum *a)
{
	size_t size = a->size;
	int err;

	fib_assert(c != a);
	fib_assert(c->capacity >= 2 * size);
	if (size == 1) {
		c->limb[0] = limb_mul(&c->limb[1], a->limb[0], a->limb[0]);
		c->size = c->limb[1] ? 2 : 1;
		return 0;
	}
	memset(c->limb, 0, 2 * size * sizeof(*c->limb));
	for (size_t i = 0; i < size - 1; i++) {
		err = fib_account_work(a->call, size - 1 - i);
		if (err)
			return err;
		c->limb[i + size] =
			limbs_addmul(c->limb + 2 * i + 1, a->limb + i + 1,
				     size - 1 - i, a->limb[i]);
	}
	/* Twice this sum is less than a * a < B^(2 * size): no bit is lost. */
	limbs_lshift(c->limb, c->limb, 2 * size, 1);
	limbs_add_squares(c->limb, a->limb, size);
	c->size = 2 * size;
	bn_trim(c);
	return 0;
}
