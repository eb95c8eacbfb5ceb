// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Karatsuba's method: if two factors are split into halves, a = a0 + a1 X and
 * b = b0 + b1 X, then
 *
 *	a * b = a0 * b0 + ((a0 + a1) * (b0 + b1) - a0 * b0 - a1 * b1) X + a1 * b1 X^2
 *
 * needs three products of halves instead of four (Karatsuba and Ofman, 1962;
 * Knuth, volume 2, 4.3.3). Here it is applied to columns, not to numbers: X
 * stands for a position, the sums of limbs are not carried, and columns are
 * added and subtracted modulo 2^128. Only the final columns must be right.
 *
 * A column must hold twice as many products as in column.h. Therefore limbs are
 * first converted to digits from -B / 2 to B / 2, whose product is at most
 * B^2 / 4, and a column is a signed number.
 */
#include "column.h"
#include "karatsuba.h"

/*
 * The maximum number of halvings, and of digits in a leaf and in a block. Only
 * the top digit may be as large as B, so a sum of 2^LEVELS digits is at most
 *
 *	15 * B / 2 + B = 8.5 * 10^18 < 2^63.
 */
#define LEVELS 4
#define LEAF_DIGITS 42
#define BLOCK_DIGITS (LEAF_DIGITS << LEVELS)

/*
 * BIAS makes every column positive, and the column above subtracts BIAS_CARRY
 * again. Of 672 products, either two contain a top digit and are at most
 * B^2 / 2 instead of B^2 / 4, or one contains both top digits and is at most
 * B^2. So a column is between -168.75 B^2 and 168.75 B^2. With BIAS, which is
 * 170 B^2, it is between 1.25 B^2 and 338.75 B^2. Carries and limbs add less
 * than 400 B, so it stays between 0 and 2^128, which is 340.28 B^2.
 */
#define BIAS_CARRY ((column_t)LIMB_BASE * 170)
#define BIAS (BIAS_CARRY * LIMB_BASE)

/**
 * struct cut - the split of factors into blocks, and of blocks into leaves
 * @digits: digits of a block: at most LEAF_DIGITS, times 2^levels
 * @levels: number of times that a block is halved
 */
struct cut {
	size_t digits;
	unsigned int levels;
};

static struct cut cut(size_t a_size, size_t b_size)
{
	/*
	 * Use the length of the shorter factor, unless both have a similar
	 * length.
	 */
	size_t size = a_size / 2 < b_size ? a_size : b_size;
	size_t blocks = (size - 1) / BLOCK_DIGITS + 1;
	size_t leaf = (size - 1) / blocks + 1;
	unsigned int levels = 0;

	while (leaf > LEAF_DIGITS) {
		leaf = (leaf + 1) / 2;
		levels++;
	}
	return (struct cut){ leaf << levels, levels };
}

/* Return the number of blocks in @size limbs. */
static size_t blocks_of(size_t size, size_t digits)
{
	return (size - 1) / digits + 1;
}

/**
 * karatsuba_room() - return the size of karatsuba_mul's work space in bytes
 * @size: limbs of the product
 *
 * The work space holds the digits of both factors, rounded up to whole blocks,
 * and five columns for each digit of a block: two for the product of two
 * blocks, and three for all levels of the recursion together.
 */
size_t karatsuba_room(size_t size)
{
	size_t digits = min_t(size_t, size, BLOCK_DIGITS);

	return size_add(array_size(size_add(size, 2 * digits), sizeof(limb_t)),
			array_size(5 * digits, sizeof(column_t)));
}

/*
 * d[] = the signed digits of a[], from -B / 2 to B / 2, and zeros above them up
 * to @room. The top digit may be larger, because it has no digit above to carry
 * to. (Knuth, volume 2, 4.1, calls a number system with such digits balanced.)
 */
static void signed_digits(limb_t *d, size_t room, const limb_t *a, size_t size)
{
	limb_t carry = 0;

	for (size_t i = 0; i < size - 1; i++) {
		limb_t digit = a[i] + carry;

		carry = digit > LIMB_BASE / 2;
		d[i] = digit - (-carry & LIMB_BASE);
	}
	d[size - 1] = a[size - 1] + carry;
	memset(d + size, 0, (room - size) * sizeof(*d));
}

/* c[] = the 2 * size - 1 columns of a[] * b[], and one more, which is 0. */
static inline void comba_leaf_mul(column_t *c, const limb_t *a, const limb_t *b,
				  size_t size)
{
	for (size_t k = 0; k < size; k++) {
		c[k] = comba_column(a, b + k, k + 1);
		c[size + k] =
			comba_column(a + k + 1, b + size - 1, size - 1 - k);
	}
}

/* c[] = the columns of a[]^2. All products except the squares occur twice. */
static inline void comba_leaf_square(column_t *c, const limb_t *a, size_t size)
{
	for (size_t k = 0; k < 2 * size; k++) {
		size_t last = min(k, size - 1), first = k - last;

		c[k] = comba_column(a + first, a + last,
				    (last - first + 1) / 2) *
		       2;
		if (k % 2 == 0)
			c[k] += comba_column(a + k / 2, a + k / 2, 1);
	}
}

/* s[] = the sums of the lower and the upper half of a[] */
static inline void add_halves(limb_t *s, const limb_t *a, size_t half)
{
	for (size_t i = 0; i < half; i++)
		s[i] = a[i] + a[half + i];
}

/* Add the middle product, minus the products of the halves, to the result. */
static inline void add_middle(column_t *c, const column_t *middle, size_t half)
{
	for (size_t i = 0; i < half; i++) {
		column_t c0 = c[i], c1 = c[half + i];
		column_t c2 = c[2 * half + i], c3 = c[3 * half + i];

		c[half + i] = c1 + middle[i] - c0 - c2;
		c[2 * half + i] = c2 + middle[half + i] - c1 - c3;
	}
}

/*
 * c[] = the 2 * size columns of a[] * b[], of which the top one is 0. If b is
 * @a, it is a square. The work space has three columns for each digit.
 *
 * The function is recursive. Its depth is @levels, at most LEVELS, so it needs
 * at most five frames on the kernel's stack.
 */
static int karatsuba_columns(struct fib_call *call, column_t *c,
			     const limb_t *a, const limb_t *b, size_t size,
			     unsigned int levels, column_t *room)
{
	size_t half = size / 2;
	column_t *middle = room;
	limb_t *a_sum = (limb_t *)(room + size), *b_sum = a_sum + half;
	int err;

	if (a == b && size < KARATSUBA_SQUARE_LIMBS) {
		comba_leaf_square(c, a, size);
		return fib_account_work(call, size * size / 2);
	}
	if (!levels) {
		comba_leaf_mul(c, a, b, size);
		return fib_account_work(call, size * size);
	}
	levels--;
	room += size + half;
	add_halves(a_sum, a, half);
	if (a == b)
		b_sum = a_sum;
	else
		add_halves(b_sum, b, half);
	err = karatsuba_columns(call, c, a, b, half, levels, room);
	if (err)
		return err;
	err = karatsuba_columns(call, c + size, a + half, b + half, half,
				levels, room);
	if (err)
		return err;
	err = karatsuba_columns(call, middle, a_sum, b_sum, half, levels, room);
	if (err)
		return err;
	add_middle(c, middle, half);
	return 0;
}

/* c[] += the number that consists of @count columns, modulo B^size */
static void add_columns(limb_t *c, size_t size, const column_t *column,
			size_t count)
{
	struct carry carry = { .large = BIAS_CARRY };
	limb_t sum = 0;
	size_t i;

	count = min(count, size);
	for (i = 0; i != count; i++)
		c[i] = column_limb(&carry, column[i] + c[i] + carry.large +
						   (BIAS - BIAS_CARRY));
	carry.large += carry.small;
	carry.large -= BIAS_CARRY;
	/* From here on the carry is 0, 1 or -1. */
	for (; carry.large && i < size; i++) {
		sum = c[i] + (limb_t)carry.large;
		carry.large = 0;
		if (sum >= LIMB_BASE) {
			bool borrow = sum >> 63;

			carry.large = borrow ? -1 : 1;
			sum = borrow ? sum + LIMB_BASE : sum - LIMB_BASE;
		}
		c[i] = sum;
	}
}

/**
 * karatsuba_mul() - c[] = a[] * b[]
 * @call: the call that does the work
 * @c: the product, a_size + b_size limbs
 * @a: a factor
 * @a_size: number of limbs of @a
 * @b: a factor, at most as long as @a; for a square pass @a, which is faster
 * @b_size: number of limbs of @b
 * @room: work space of karatsuba_room() bytes
 *
 * The product is the sum of the products of all blocks. These may be negative,
 * so the sum is computed modulo B^(a_size + b_size).
 *
 * Return: 0 or -EINTR.
 */
int karatsuba_mul(struct fib_call *call, limb_t *c, const limb_t *a,
		  size_t a_size, const limb_t *b, size_t b_size, void *room)
{
	struct cut by = cut(a_size, b_size);
	size_t a_blocks = blocks_of(a_size, by.digits);
	size_t b_blocks = blocks_of(b_size, by.digits);
	column_t *column = room;
	column_t *more = column + 2 * by.digits;
	limb_t *x = (limb_t *)(more + 3 * by.digits), *y = x;
	size_t top = a_size + b_size;
	int err;

	signed_digits(x, a_blocks * by.digits, a, a_size);
	if (a != b) {
		y = x + a_blocks * by.digits;
		signed_digits(y, b_blocks * by.digits, b, b_size);
	}
	memset(c, 0, top * sizeof(*c));
	for (size_t i = 0; i < a_blocks; i++) {
		for (size_t j = 0; j < b_blocks; j++) {
			size_t at = (i + j) * by.digits;

			/* In a square, skip one of two equal products. */
			if (a == b && j > i)
				break;
			err = karatsuba_columns(call, column, x + i * by.digits,
						y + j * by.digits, by.digits,
						by.levels, more);
			if (err)
				return err;
			add_columns(c + at, top - at, column, 2 * by.digits);
			if (a == b && i != j)
				add_columns(c + at, top - at, column,
					    2 * by.digits);
		}
	}
	return 0;
}
