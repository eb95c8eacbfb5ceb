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
#include "column.h"

/*
 * The number of columns between two calls of fib_account_work. A column has at
 * most 6250 products.
 */
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
	size_t i;

	fib_assert(a_size >= b_size);
	for (i = 0; i < b_size; i++) {
		limb_t sum = a[i] + b[i] + carry;

		/* No branch, because no CPU can predict the carry. */
		carry = sum >= LIMB_BASE;
		c[i] = sum - (-carry & LIMB_BASE);
	}
	for (; i < a_size; i++) {
		limb_t sum = a[i] + carry;

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
	size_t i;

	fib_assert(a_size >= b_size);
	for (i = 0; i < b_size; i++) {
		/* Modulo 2^64, a negative difference has its top bit set. */
		limb_t difference = a[i] - b[i] - borrow;

		borrow = difference >> 63;
		c[i] = difference + (-borrow & LIMB_BASE);
	}
	for (; i < a_size; i++) {
		limb_t difference = a[i] - borrow;

		borrow = difference >> 63;
		c[i] = difference + (-borrow & LIMB_BASE);
	}
	return borrow;
}

/* The partial sum of a column of any length. */
struct folded {
	column_t sum;
	column_t above; /* must be added to the column above */
};

/*
 * Add any number of products, each counted @times times, to @sum, in blocks.
 * @sum is a carry and, in a square, the product in the middle. After each block
 * the quotient is moved to the column above, and the next block begins with the
 * remainder. A block of 339 products and the one in the middle leave space for
 * 2^117, which is more than the carry of 2^48 blocks.
 */
static struct folded long_column(column_t sum, const limb_t *a, const limb_t *b,
				 size_t count, unsigned int times)
{
	const size_t most = (COLUMN_PRODUCTS - 1) / times;
	struct folded column = { .sum = sum };

	for (; count > most; count -= most) {
		column_t quotient;

		column.sum += comba_column(a, b, most) * times;
		quotient = column_quotient(column.sum);
		column.sum -= quotient * LIMB_BASE;
		column.above += quotient;
		a += most;
		b -= most;
	}
	column.sum += comba_column(a, b, count) * times;
	return column;
}

/*
 * Return the limb of a column of any length. The column is the sum of @sum, of
 * the carry, and of @count products: a[] ascending times b[] descending, each
 * counted @times times.
 */
static inline limb_t next_limb(struct carry *carry, column_t sum,
			       const limb_t *a, const limb_t *b, size_t count,
			       unsigned int times)
{
	struct folded column;
	limb_t limb;

	sum += carry->large;
	if (count < COLUMN_PRODUCTS / times)
		return column_limb(carry,
				   sum + comba_column(a, b, count) * times);
	column = long_column(sum, a, b, count, times);
	limb = column_limb(carry, column.sum);
	carry->large += column.above;
	return limb;
}

/*
 * c[k] = limb k of a[] * b[], where a_size >= b_size, @from <= k < @to. This is
 * Comba's method (product scanning): limb k is computed from column k, which is
 * the sum of all a[i] * b[k - i].
 */
static struct carry comba_mul_columns(limb_t *c, size_t from, size_t to,
				      struct carry carry, const limb_t *a,
				      size_t a_size, const limb_t *b,
				      size_t b_size)
{
	for (size_t k = from; k < to; k++) {
		/* i begins at first, and k - i at last, an index of b */
		size_t last = min(k, b_size - 1), first = k - last;
		size_t count = min(last + 1, a_size - first);

		c[k] = next_limb(&carry, 0, a + first, b + last, count, 1);
	}
	return carry;
}

/*
 * c[k] = limb k of a[]^2, where @from <= k < @to, also by Comba's method. By
 * symmetry, each product of two different limbs occurs twice in its column, so
 * only half of them are computed. The square of a limb occurs once, in every
 * second column.
 */
static struct carry comba_square_columns(limb_t *c, size_t from, size_t to,
					 struct carry carry, const limb_t *a,
					 size_t size)
{
	for (size_t k = from; k < to; k++) {
		size_t last = min(k, size - 1), first = k - last;
		size_t count = (last - first + 1) / 2;
		column_t middle = 0;

		if (k % 2 == 0)
			middle = limb_product(a + k / 2, a + k / 2);
		c[k] = next_limb(&carry, middle, a + first, a + last, count, 2);
	}
	return carry;
}

/* c[] = a[] * b[], where a_size >= b_size and c has the limbs of both. */
static int comba_mul(struct fib_call *call, limb_t *c, const limb_t *a,
		     size_t a_size, const limb_t *b, size_t b_size)
{
	size_t top = a_size + b_size - 1; /* the limb above the last column */
	struct carry carry = {};
	int err;

	for (size_t from = 0, to; from < top; from = to) {
		to = min(from + COLUMNS_AT_ONCE, top);
		err = fib_account_work(call, (to - from) * b_size);
		if (err)
			return err;
		carry = comba_mul_columns(c, from, to, carry, a, a_size, b,
					  b_size);
	}
	c[top] = carry.large + carry.small;
	return 0;
}

/* c[] = a[]^2, where c has twice its limbs. */
static int comba_square(struct fib_call *call, limb_t *c, const limb_t *a,
			size_t size)
{
	size_t top = 2 * size - 1;
	struct carry carry = {};
	int err;

	for (size_t from = 0, to; from < top; from = to) {
		to = min(from + COLUMNS_AT_ONCE, top);
		err = fib_account_work(call, (to - from) * (size / 2 + 1));
		if (err)
			return err;
		carry = comba_square_columns(c, from, to, carry, a, size);
	}
	c[top] = carry.large + carry.small;
	return 0;
}

/* Store the product of two limbs in c[0] and c[1]. */
static void limb_mul(limb_t *c, limb_t a, limb_t b)
{
	struct carry carry = {};

	c[0] = column_limb(&carry, (column_t)a * b);
	c[1] = carry.large + carry.small;
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
 * bn_mul() - c = a * b
 * @c: the product; must not be @a or @b; has capacity for the limbs of both
 * @a: a number
 * @b: a number
 */
int bn_mul(struct bignum *c, const struct bignum *a, const struct bignum *b)
{
	int err;

	fib_assert(c != a && c != b);
	fib_assert(c->capacity >= a->size + b->size);
	if (a->size == 1 && b->size == 1) {
		limb_mul(c->limb, a->limb[0], b->limb[0]);
		c->size = c->limb[1] ? 2 : 1;
		return 0;
	}
	if (a->size < b->size)
		swap(a, b);
	err = comba_mul(a->call, c->limb, a->limb, a->size, b->limb, b->size);
	if (err)
		return err;
	c->size = a->size + b->size;
	bn_trim(c);
	return 0;
}

/**
 * bn_square() - c = a * a
 * @c: the square; must not be @a; has capacity for twice as many limbs
 * @a: a number
 */
int bn_square(struct bignum *c, const struct bignum *a)
{
	int err;

	fib_assert(c != a);
	fib_assert(c->capacity >= 2 * a->size);
	if (a->size == 1) {
		limb_mul(c->limb, a->limb[0], a->limb[0]);
		c->size = c->limb[1] ? 2 : 1;
		return 0;
	}
	err = comba_square(a->call, c->limb, a->limb, a->size);
	if (err)
		return err;
	c->size = 2 * a->size;
	bn_trim(c);
	return 0;
}
