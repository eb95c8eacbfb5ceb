// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Integers in base 10^4 with signed digits, approximately -5000 to 5000. A
 * number can be written in more than one way with such digits. This is useful:
 * the carry of a sum of a few digits changes the next digit, but never produces
 * another carry, so all positions can be computed in parallel.
 *
 * The absolute value of a digit is at most 5011 after a product, at most 5002
 * after a sum of products, and never more than DIGIT_MAX.
 *
 * The digits of a number whose absolute value is less than 10^(4 s) / 2 fit
 * into s positions.
 */
#include "digits_avx2.h"
#include "vector.h"

/*
 * Number of digits that an operation may write after the end of a number.
 */
#define BEYOND (2 * DIGITS_AT_ONCE)

/* The cost of an operation on 16 digits, in products of two limbs. */
#define GROUP_WORK 4

static size_t whole_vectors(size_t size)
{
	return (size + DIGITS_AT_ONCE - 1) & -(size_t)DIGITS_AT_ONCE;
}

/**
 * digits_room() - return the length of an array for a number of @size digits
 */
size_t digits_room(size_t size)
{
	return whole_vectors(size) + BEYOND;
}

/**
 * digits_trim() - remove leading zeros
 * @a: a number, padded with zeros to a multiple of DIGITS_AT_ONCE digits
 */
void digits_trim(struct digits *a)
{
	while (a->size && !a->digit[a->size - 1])
		a->size--;
}

/* Pad the number with zeros to @size digits. */
static void clear_up_to(const struct digits *a, size_t size)
{
	if (size > a->size)
		memset(a->digit + a->size, 0, (size - a->size) * sizeof(s16));
}

static const s16 power_of_ten[] = { 1, 10, 100, 1000 };

static void print_digit(char *text, s16 digit)
{
	for (size_t i = DIGIT_WIDTH; i-- > 0; digit /= 10)
		text[i] = '0' + digit % 10;
}

/* Store a number of 16 decimal digits as four digits in base 10^4. */
static void put_16(s16 *digit, u64 number)
{
	for (size_t i = 0; i < 4; i++) {
		digit[i] = number % DIGIT_BASE;
		number /= DIGIT_BASE;
	}
}

/**
 * digits_from_limbs() - c = a
 * @c: the digits, in an array of 9 digits for each two limbs and one more
 * @a: a natural number
 */
void digits_from_limbs(struct digits *c, const struct bignum *a)
{
	const u64 e16 = 10000000000000000ULL;
	s16 carry = 0;

	/* Split two limbs of 18 digits into 16, 2 + 2 and 16 digits. */
	for (size_t i = 0; i < a->size; i += 2) {
		limb_t low = a->limb[i];
		limb_t high = i + 1 < a->size ? a->limb[i + 1] : 0;
		s16 *digit = c->digit + i / 2 * 9;

		put_16(digit, low % e16);
		digit[4] = low / e16 + high % 100 * 100;
		put_16(digit + 5, high / 100);
	}
	c->size = (a->size + 1) / 2 * 9;
	c->digit[c->size++] = 0;
	for (size_t i = 0; i != c->size; i++) {
		s16 digit = c->digit[i] + carry;

		carry = digit > DIGIT_BASE / 2;
		c->digit[i] = digit - carry * DIGIT_BASE;
	}
	clear_up_to(c, digits_room(c->size));
	digits_trim(c);
}

/**
 * digits_combine() - c = x * a + y * b
 * @call: the call that does the work
 * @c: the result; may be @a or @b
 * @x: with @y, 2 and 1, -1 and 2, or -1 and 1: fib.c needs no other pair
 * @a: a number
 * @y: see @x
 * @b: a number; both arrays must have one more digit than the longer number
 *
 * Return: 0 or -EINTR.
 */
int digits_combine(struct fib_call *call, struct digits *c, int x,
		   const struct digits *a, int y, const struct digits *b)
{
	size_t size = whole_vectors(max(a->size, b->size) + 1);
	int carry = 0, err;

	clear_up_to(a, size);
	clear_up_to(b, size);
	for (size_t i = 0, count; i < size; i += count) {
		count = min_t(size_t, size - i, DIGITS_SECTION);
		err = fib_account_work(call,
				       count / DIGITS_AT_ONCE * GROUP_WORK);
		if (err)
			return err;
		fib_fpu_begin();
		carry = digits_avx2_combine(c->digit + i, x, a->digit + i, y,
					    b->digit + i, count, carry);
		fib_fpu_end();
	}
	fib_assert(carry == 0);
	c->size = size;
	digits_trim(c);
	return 0;
}

/**
 * digits_div5() - a = a / 5
 * @call: the call that does the work
 * @a: a multiple of 5
 *
 * Return: 0 or -EINTR.
 */
int digits_div5(struct fib_call *call, struct digits *a)
{
	size_t size = whole_vectors(a->size + 1);
	int carry = 0, err;

	clear_up_to(a, size + DIGITS_AT_ONCE);
	for (size_t i = 0, count; i < size; i += count) {
		count = min_t(size_t, size - i, DIGITS_SECTION);
		err = fib_account_work(call,
				       count / DIGITS_AT_ONCE * GROUP_WORK);
		if (err)
			return err;
		fib_fpu_begin();
		carry = digits_avx2_fifth(a->digit + i, count, carry);
		fib_fpu_end();
	}
	fib_assert(carry == 0);
	a->size = size;
	digits_trim(a);
	return 0;
}

/**
 * digits_make_unique() - make all digits 0 to 9999
 * @call: the call that does the work
 * @a: a number, not negative
 *
 * Return: 0 or -EINTR.
 */
int digits_make_unique(struct fib_call *call, struct digits *a)
{
	size_t size = whole_vectors(a->size);
	bool borrow = false;
	int err;

	for (size_t i = 0, count; i < size; i += count) {
		count = min_t(size_t, size - i, DIGITS_SECTION);
		err = fib_account_work(call,
				       count / DIGITS_AT_ONCE * GROUP_WORK);
		if (err)
			return err;
		fib_fpu_begin();
		borrow = digits_avx2_make_unique(a->digit + i, count, borrow);
		fib_fpu_end();
	}
	fib_assert(!borrow);
	digits_trim(a);
	return 0;
}

/**
 * digits_width() - return the number of decimal digits of a number
 * @a: a number that digits_make_unique has been applied to; not 0
 */
size_t digits_width(const struct digits *a)
{
	size_t width = 1;

	while (width < DIGIT_WIDTH &&
	       a->digit[a->size - 1] >= power_of_ten[width])
		width++;
	return (a->size - 1) * DIGIT_WIDTH + width;
}

/**
 * digits_print() - write a number as text, most significant digit first
 * @call: the call that does the work
 * @text: the destination
 * @size: its size in characters
 * @a: a number that digits_make_unique has been applied to; not 0
 *
 * Return: the number of characters; -ERANGE if they do not fit, or -EINTR.
 */
ssize_t digits_print(struct fib_call *call, char *text, size_t size,
		     const struct digits *a)
{
	size_t left = a->size - 1, total = digits_width(a);
	size_t width = total - left * DIGIT_WIDTH;
	char first[DIGIT_WIDTH];
	int err;

	/* Only the first digit is written without leading zeros. */
	print_digit(first, a->digit[left]);
	if (total > size)
		return -ERANGE;
	memcpy(text, first + DIGIT_WIDTH - width, width);
	text += width;
	for (; left % PRINTED_AT_ONCE; text += DIGIT_WIDTH)
		print_digit(text, a->digit[--left]);
	for (size_t count; left; text += count * DIGIT_WIDTH) {
		count = min_t(size_t, left, DIGITS_SECTION);
		left -= count;
		err = fib_account_work(call,
				       count / DIGITS_AT_ONCE * GROUP_WORK);
		if (err)
			return err;
		fib_fpu_begin();
		digits_avx2_print(text, a->digit + left, count);
		fib_fpu_end();
	}
	return total;
}
