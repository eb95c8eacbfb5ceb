// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Operations on digits, 16 at a time.
 */
#include "digits_avx2.h"
#include "simd.h"

#ifndef __CHECKER__ /* sparse knows no vectors */

static __always_inline s16x16 load(const s16 *digit)
{
	s16x16 x;

	__builtin_memcpy(&x, digit, sizeof(x));
	return x;
}

static __always_inline void store(s16 *digit, s16x16 x)
{
	__builtin_memcpy(digit, &x, sizeof(x));
}

static __always_inline s16x16 broadcast(s16 x)
{
	return (s16x16){ x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x };
}

/* Shift up by one position; the top of @below moves in. */
static __always_inline s16x16 up1(s16x16 below, s16x16 a)
{
	return shuffle(below, a, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
		       27, 28, 29, 30);
}

/* Shift down by one position; the bottom of @above moves in. */
static __always_inline s16x16 down1(s16x16 a, s16x16 above)
{
	return shuffle(a, above, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
		       15, 16);
}

/*
 * Compute the carries of sums of digits, and the remaining digits. A sum is
 * from -15015 to 15015, so a carry is from -2 to 2, and no carry produces
 * another one.
 */
static __always_inline s16x16 carry_of(s16x16 sum)
{
	const s16x16 half = broadcast(DIGIT_BASE / 2);

	return (sum < -half) - (sum > half) + (sum < -3 * half) -
	       (sum > 3 * half);
}

/**
 * digits_avx2_combine() - c[] = x * a[] + y * b[]
 * @c: the result; may be @a or @b
 * @x: with @y, 2 and 1, -1 and 2, or -1 and 1: fib.c needs no other pair
 * @a: digits
 * @y: see @x; |@x| + |@y| is at most 3
 * @b: digits
 * @count: number of digits; a multiple of DIGITS_AT_ONCE
 * @carry: from the digits below
 *
 * Return: the carry to the digits above.
 */
int digits_avx2_combine(s16 *c, int x, const s16 *a, int y, const s16 *b,
			size_t count, int carry)
{
	s16x16 below = broadcast(carry);

	for (size_t i = 0; i < count; i += DIGITS_AT_ONCE) {
		s16x16 sum = load(a + i) * (s16)x + load(b + i) * (s16)y;
		s16x16 up = carry_of(sum);

		store(c + i, sum - up * (s16)DIGIT_BASE + up1(below, up));
		below = up;
	}
	return below[15];
}

/* Return the upper 32 bits of the products. */
static __always_inline s16x16 mul_high(s16x16 a, s16 factor)
{
	s32x8 low = __builtin_convertvector(
		shuffle(a, a, 0, 1, 2, 3, 4, 5, 6, 7), s32x8);
	s32x8 high = __builtin_convertvector(
		shuffle(a, a, 8, 9, 10, 11, 12, 13, 14, 15), s32x8);

	low = low * factor >> 16;
	high = high * factor >> 16;
	return shuffle(__builtin_convertvector(low, s16x8),
		       __builtin_convertvector(high, s16x8), 0, 1, 2, 3, 4, 5,
		       6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/*
 * Return x / 5 rounded down, for x >= -DIGIT_MAX. 13108 / 2^16 is more than
 * 1 / 5, by less than 1.3 * 10^-5, which changes the result by less than 1 / 5
 * if x is less than 15000.
 */
static __always_inline s16x16 fifth_of(s16x16 x)
{
	const s16 multiple = (DIGIT_MAX + 4) / 5;

	return mul_high(x + (s16)(5 * multiple), 13108) - multiple;
}

/**
 * digits_avx2_fifth() - a[] = a[] / 5, for a multiple of 5
 * @a: the digits; the digit after the last one is read, too
 * @count: number of digits; a multiple of DIGITS_AT_ONCE
 * @carry: from the digits below
 *
 * The remainder r of a digit, 0 to 4, adds r times a fifth of the base to the
 * digit below, and does not change further digits. So no digit waits for
 * another one.
 *
 * Return: the carry to the digits above.
 */
int digits_avx2_fifth(s16 *a, size_t count, int carry)
{
	s16x16 below = broadcast(carry), next = load(a);
	s16x16 next_quotient = fifth_of(next);

	for (size_t i = 0; i < count; i += DIGITS_AT_ONCE) {
		s16x16 quotient = next_quotient, up;
		s16x16 rest = next - quotient * (s16)5;

		next = load(a + i + DIGITS_AT_ONCE);
		next_quotient = fifth_of(next);
		quotient += down1(rest, next - next_quotient * (s16)5) *
			    (s16)(DIGIT_BASE / 5);
		up = carry_of(quotient);
		store(a + i, quotient - up * (s16)DIGIT_BASE + up1(below, up));
		below = up;
	}
	return below[15];
}

/*
 * After 0x1.8p52 has been added to a double, its lowest bits are those of an
 * integer. Return the lower 32 bits of eight doubles, in the order 0 1 4 5 2 3
 * 6 7, because no instruction takes these bits from two vectors in order. The
 * result is unsigned, because arithmetic must wrap around.
 */
static __always_inline u32x8 integers(double4 a, double4 b)
{
	return (u32x8)shuffle((float8)a, (float8)b, 0, 2, 8, 10, 4, 6, 12, 14);
}

/*
 * Shift to the next position, in the order 0 1 4 5 2 3 6 7. Values from the
 * vector below are in @below.
 */
static __always_inline s32x8 next_place(s32x8 a, s32x8 *below)
{
	s32x8 turned = shuffle(a, a, 7, 0, 5, 2, 1, 4, 3, 6);
	s32x8 next = shuffle(*below, turned, 0, 9, 10, 11, 12, 13, 14, 15);

	*below = turned;
	return next;
}

/*
 * Compute 8 digits in the order above from coefficients: see
 * digits_avx2_from_doubles.
 */
static __always_inline s32x8 digits_of_8(const double4 *x, double scale,
					 s32x8 below[3])
{
	const double shift = 0x1.8p52; /* the next double is larger by 1 */
	const double scale1 = scale / DIGIT_BASE, scale2 = scale1 / DIGIT_BASE;
	u32x8 part0 = integers(x[0] * scale + shift, x[2] * scale + shift);
	u32x8 part1 = integers(x[0] * scale1 + shift, x[2] * scale1 + shift);
	u32x8 part2 = integers(x[0] * scale2 + shift, x[2] * scale2 + shift);
	s32x8 first = (s32x8)(part0 - part1 * DIGIT_BASE);
	s32x8 second = (s32x8)(part1 - part2 * DIGIT_BASE), up;

	second += next_place((s32x8)part2, &below[2]);
	first += next_place(second, &below[1]);
	up = (first * 6711 + (1 << 25)) >> 26;
	return first - up * DIGIT_BASE + next_place(up, &below[0]);
}

/**
 * digits_avx2_from_doubles() - compute digits of a number from coefficients
 * @digit: the digits
 * @x: the first coefficient; four are consecutive, and the next four begin 8
 *	elements later
 * @count: number of digits; a multiple of DIGITS_AT_ONCE
 * @scale: multiplied by this, each coefficient is close to an integer of less
 *	than 9 * 10^12
 * @carry: in: from the digits below; out: to the digits above
 *
 * Each integer X is split: Q is X / B, rounded, and R is X / B^2, rounded.
 * X - B Q is added to its own position, Q - B R to the next one, and R to the
 * one after. The absolute values of the first two are at most B / 2, and R is
 * at most 90,000. The sum of the three values of a position has a carry of at
 * most 10. The carry is computed by a multiplication by 6711 / 2^26, which is
 * more than 1 / B by less than 2 * 10^-9. So at most 5001 remains, and a digit
 * is at most 5011. If a result is known to be small, the lower 32 bits of all
 * operands are enough.
 */
void digits_avx2_from_doubles(s16 *digit, const double *x, size_t count,
			      double scale, struct digits_carry *carry)
{
	s32x8 below[3] = { { carry->up[0] },
			   { carry->up[1] },
			   { carry->up[2] } };

	for (size_t i = 0; i < count; i += DIGITS_AT_ONCE, x += 32) {
		s32x8 low = digits_of_8((const double4 *)x, scale, below);
		s32x8 high = digits_of_8((const double4 *)x + 4, scale, below);
		/*
		 * The order is now 0 8 1 9 4 12 5 13 and 2 10 3 11 6 14 7 15.
		 */
		s16x16 both = shuffle((s16x16)low, (s16x16)((u32x8)high << 16),
				      0, 17, 2, 19, 4, 21, 6, 23, 8, 25, 10, 27,
				      12, 29, 14, 31);
		s32x8 pairs = (s32x8)shuffle(both, both, 0, 2, 4, 6, 1, 3, 5, 7,
					     8, 10, 12, 14, 9, 11, 13, 15);

		store(digit + i,
		      (s16x16)shuffle(pairs, pairs, 0, 4, 1, 5, 2, 6, 3, 7));
	}
	for (int k = 0; k < 3; k++)
		carry->up[k] = below[k][0];
}

/*
 * Return a vector of -1 and 0 for the bits @low (the lower eight positions) and
 * @high. Each position has two bits, of which the lower one counts.
 */
static __always_inline s16x16 mask_of(unsigned int bits)
{
	const s16x16 bit = { 1,	      1 << 2,  1 << 4,	1 << 6, 1 << 8, 1 << 10,
			     1 << 12, 1 << 14, 1,	1 << 2, 1 << 4, 1 << 6,
			     1 << 8,  1 << 10, 1 << 12, 1 << 14 };
	s16 low = bits, high = bits >> 16;
	s16x16 x = { low,  low,	 low,  low,  low,  low,	 low,  low,
		     high, high, high, high, high, high, high, high };

	return (x & bit) != 0;
}

/* Return two bits for each position of a vector of -1 and 0. */
static __always_inline unsigned int bits_of(s16x16 mask)
{
	return __builtin_ia32_pmovmskb256((char32)mask);
}

/**
 * digits_avx2_make_unique() - make all digits 0 to 9999
 * @a: the digits
 * @count: number of digits; a multiple of DIGITS_AT_ONCE
 * @borrow: true if the digits below borrow
 *
 * A digit borrows if it is negative, or if it is 0 and the digit below borrows.
 * The carries of an addition behave in the same way. So add two numbers with
 * two bits for each digit: in the first, both are set for a negative digit; in
 * the second, also for the digit 0. The processor's adder then computes all
 * borrows at once (carry look-ahead).
 *
 * Return: true if the top digit borrows.
 */
bool digits_avx2_make_unique(s16 *a, size_t count, bool borrow)
{
	for (size_t i = 0; i < count; i += DIGITS_AT_ONCE) {
		s16x16 x = load(a + i);
		u64 negative = bits_of(x < 0);
		u64 not_above = bits_of(x <= 0);
		u64 sum = negative + not_above + borrow;

		borrow = sum >> 32;
		/*
		 * A bit of the sum differs from the XOR if a carry was added to
		 * it.
		 */
		x += mask_of(sum ^ negative ^ not_above);
		store(a + i, x + ((x < 0) & (s16)DIGIT_BASE));
	}
	return borrow;
}

/**
 * digits_avx2_print() - write digits as text, four characters each
 * @text: the destination, the most significant digit first
 * @digit: the digits, 0 to 9999
 * @count: number of digits; a multiple of 8
 *
 * Division by multiplication: 5243 / 2^19 is more than 1 / 100 by less than
 * 10^-6, and 103 / 2^10 is more than 1 / 10 by less than 0.0006. Both are
 * accurate enough for all dividends that occur.
 */
void digits_avx2_print(char *text, const s16 *digit, size_t count)
{
	for (size_t i = count; i >= 8; i -= 8, text += 8 * DIGIT_WIDTH) {
		u16x16 pairs, tens;
		s32x8 x, hundreds;
		s16x8 group;

		__builtin_memcpy(&group, digit + i - 8, sizeof(group));
		x = __builtin_convertvector(group, s32x8);
		x = shuffle(x, x, 7, 6, 5, 4, 3, 2, 1, 0);
		hundreds = x * 5243 >> 19;
		/*
		 * The quotient by 100 is in the lower half, the remainder in
		 * the upper half.
		 */
		pairs = (u16x16)((x << 16) - hundreds * ((100 << 16) - 1));
		tens = pairs * 103 >> 10;
		pairs = tens + ((pairs - tens * 10) << 8) + 0x3030;
		__builtin_memcpy(text, &pairs, sizeof(pairs));
	}
}

#endif
