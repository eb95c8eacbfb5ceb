// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Natural numbers of any size: the result of an operation goes into c, a number
 * of the caller's that has room for it. Operands stay as they are, and may be
 * one and the same number; whether c may be one of them, each operation says,
 * and also the room it needs, where that is more than the result takes.
 *
 * Return, of those that take long: 0 or -EINTR. After an error c is still a
 * number, but which one is undefined.
 */
#include "bignum.h"

/*
 * B is one more than the largest limb: LIMB_BASE, 10^18. Four limbs fit into 64
 * bits with room to spare, and a column, 128 bits, takes a sum of
 *
 *	340 * (B - 1)^2 + 2^128 / B < 2^128
 *
 * that is, 340 products and whatever the column before has to carry.
 */
#define COLUMN_PRODUCTS 340
/* Columns between two looks at the work done: no more than 6250 products each. */
#define COLUMNS_AT_ONCE 16

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

	fib_assert(a_size >= b_size);
	for (size_t i = 0; i < a_size; i++) {
		limb_t sum = a[i] + (i < b_size ? b[i] : 0) + carry;

		/* As likely as not, hence no branch. */
		carry = sum >= LIMB_BASE;
		c[i] = sum - (-carry & LIMB_BASE);
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

	fib_assert(a_size >= b_size);
	for (size_t i = 0; i < a_size; i++) {
		/* Modulo 2^64, where what is negative has the top bit set. */
		limb_t difference = a[i] - (i < b_size ? b[i] : 0) - borrow;

		borrow = difference >> 63;
		c[i] = difference + (-borrow & LIMB_BASE);
	}
	return borrow;
}

/*
 * sum / B, or up to 5 less, without a division: of s = high * 2^64 + low,
 *
 *	s / B = high * 18 + high * f + low / B, with f = 2^64 / B - 18 = 0.4467...
 *
 * the first term is exact. For the second, f is FRACTION / 2^64 and a bit; that
 * bit takes less than 1, and rounding down less than 1. For the third, low / B
 * is less than 18.4468, low / 2^60 less than 16 and by the factor 2^60 / B
 * smaller: by less than 2.4468, and rounding down takes less than 1. Together
 * the result is never above s / B, and falls short by less than 5.4468.
 */
static inline column_t column_quotient(column_t sum)
{
	const u64 FRACTION = 8240973594166534375ULL;
	u64 high = sum >> 64, low = sum;

	return (column_t)high * 18 + (u64)((column_t)high * FRACTION >> 64) +
	       (low >> 60);
}

/**
 * struct carry - what a column hands on to those above it
 * @large: to be added to the next sum; by then it need not be exact
 * @small: what was missing in it, at most 5; to be added to the next limb
 */
struct carry {
	column_t large;
	limb_t small;
};

/*
 * Takes the limb at its place out of a column, whose @sum has @carry->large in
 * it, and leaves the rest in @carry.
 *
 * The quotient is all that the next column waits for. What remains, less than
 * 5.4468 B, is made a limb beside that: B * 5.4468 + 5 < 2^63.
 */
static inline limb_t column_limb(struct carry *carry, column_t sum)
{
	column_t quotient = column_quotient(sum);
	limb_t limb = sum - quotient * LIMB_BASE + carry->small;

	carry->large = quotient;
	carry->small = limb / LIMB_BASE;
	return limb - carry->small * LIMB_BASE;
}

/* a[0] * b[0] + a[1] * b[-1] + a[2] * b[-2] ..., of no more than a column takes */
static inline column_t products(const limb_t *a, const limb_t *b, size_t count)
{
	column_t sum = 0;

	/* Here the time goes. */
#pragma GCC unroll 4
	for (size_t i = 0; i < count; i++)
		sum += (column_t)a[i] * *b--;
	return sum;
}

/*
 * The sum of @count such products, @times times, and @sum, which is a carry.
 *
 * A longer column is summed in blocks. After each the quotient is set aside, to
 * @above, and the next block starts from the remainder. In all, a carry is then
 * less than (blocks + 1) * 2^128 / B, and a block leaves room for 2^117.
 */
static inline column_t column_sum(column_t sum, column_t *above,
				  const limb_t *a, const limb_t *b,
				  size_t count, unsigned int times)
{
	const size_t block = COLUMN_PRODUCTS / times;

	*above = 0;
	while (count > block) {
		column_t quotient;

		sum += products(a, b, block) * times;
		quotient = column_quotient(sum);
		*above += quotient;
		sum -= quotient * LIMB_BASE;
		a += block;
		b -= block;
		count -= block;
	}
	return sum + products(a, b, count) * times;
}

/* Gives up leading zeros. */
static void bn_trim(struct bignum *a)
{
	while (a->size > 1 && !a->limb[a->size - 1])
		a->size--;
}

/* Puts a limb on top of the others, unless it is 0. */
static void bn_push(struct bignum *a, limb_t top)
{
	if (!top)
		return;
	fib_assert(a->size < a->capacity);
	a->limb[a->size++] = top;
}

/**
 * bn_create() - new numbers, all in one block
 * @call: the call that pays for them
 * @count: how many
 * @size: how many limbs each has room for, at least 1
 *
 * The numbers come first in the block, then the limbs of each in turn.
 *
 * Return: the first of the numbers, all of which are 0, or NULL.
 */
struct bignum *bn_create(struct fib_call *call, size_t count, size_t size)
{
	struct bignum *a;
	limb_t *limb;

	a = fib_alloc(call, count, sizeof(*a) + size * sizeof(*limb));
	if (!a)
		return NULL;
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
 * bn_free() - give numbers back, all that were created together
 * @a: the first of them; NULL is fine
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
 * @c: the difference; may be @a or @b; has room for as many limbs as @a
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
 * bn_mul() - c = a * b
 * @c: the product; neither @a nor @b; has room for the limbs of both
 * @a: a number
 * @b: a number
 *
 * Column by column: all a[i] * b[k - i], of which limb k is made.
 */
int bn_mul(struct bignum *c, const struct bignum *a, const struct bignum *b)
{
	struct carry carry = {};
	size_t top; /* the limb above the last column */
	int err;

	if (a->size < b->size)
		swap(a, b);
	top = a->size + b->size - 1;
	fib_assert(c != a && c != b);
	fib_assert(c->capacity > top);
	for (size_t k = 0; k < top; k++) {
		/* i begins at first, k - i at last, which is in b. */
		size_t last = min(k, b->size - 1), first = k - last;
		size_t count = min(last + 1, a->size - first);
		column_t sum, above;

		if (k % COLUMNS_AT_ONCE == 0) {
			err = fib_spend(a->call, COLUMNS_AT_ONCE * b->size);
			if (err)
				return err;
		}
		sum = column_sum(carry.large, &above, a->limb + first,
				 b->limb + last, count, 1);
		c->limb[k] = column_limb(&carry, sum);
		carry.large += above;
	}
	c->limb[top] = carry.large + carry.small;
	c->size = top + 1;
	bn_trim(c);
	return 0;
}

/**
 * bn_square() - c = a * a
 * @c: the square; not @a; has room for twice its limbs
 * @a: a number
 *
 * By symmetry: the products of two different limbs all occur twice in their
 * column, so that half of them are computed; that of a limb with itself occurs
 * once, in every other column.
 */
int bn_square(struct bignum *c, const struct bignum *a)
{
	struct carry carry = {};
	size_t size = a->size;
	int err;

	fib_assert(c != a);
	fib_assert(c->capacity >= 2 * size);
	for (size_t k = 0; k < 2 * size - 1; k++) {
		size_t last = min(k, size - 1), first = k - last;
		size_t count = (last - first + 1) / 2;
		column_t sum, above;

		if (k % COLUMNS_AT_ONCE == 0) {
			err = fib_spend(a->call, COLUMNS_AT_ONCE * size / 2);
			if (err)
				return err;
		}
		sum = column_sum(carry.large, &above, a->limb + first,
				 a->limb + last, count, 2);
		if (k % 2 == 0)
			sum += (column_t)a->limb[k / 2] * a->limb[k / 2];
		c->limb[k] = column_limb(&carry, sum);
		carry.large += above;
	}
	c->limb[2 * size - 1] = carry.large + carry.small;
	c->size = 2 * size;
	bn_trim(c);
	return 0;
}
