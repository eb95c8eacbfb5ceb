// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Operations on digits, 16 at a time.
 */
#include "digits_avx2.h"
#include "simd.h"

#ifndef __CHECKER__ /* sparse knows no vectors */

inlined s16x16 load(const s16 *digit)
{
	s16x16 x;

	__builtin_memcpy(&x, digit, sizeof(x));
	return x;
}

inlined void store(s16 *digit, s16x16 x)
{
	__builtin_memcpy(digit, &x, sizeof(x));
}

inlined s16x16 broadcast(s16 x)
{
	return (s16x16){ x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x };
}

/* Shifts by one place; what moves in is the top of @below. */
inlined s16x16 up1(s16x16 below, s16x16 a)
{
	return shuffle(below, a, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
		       27, 28, 29, 30);
}

/* Shifts by one place down; what moves in is the bottom of @above. */
inlined s16x16 down1(s16x16 a, s16x16 above)
{
	return shuffle(a, above, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
		       15, 16);
}

/*
 * What a sum of digits carries, and leaves: from up to 15015 either way it carries
 * 2 at most, so that no carry leads to another.
 */
inlined s16x16 carry_of(s16x16 sum)
{
	const s16x16 half = broadcast(DIGIT_BASE / 2);

	return (sum < -half) - (sum > half) + (sum < -3 * half) -
	       (sum > 3 * half);
}

/**
 * digits_avx2_combine() - c[] = x * a[] + y * b[]
 * @c: the result; may be @a or @b
 * @x: -1, 1 or 2
 * @a: digits
 * @y: -1, 1 or 2; @x and @y together make no more than three of a digit
 * @b: digits
 * @count: how many; a multiple of DIGITS_AT_ONCE
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

/* The upper halves of 32 bits of the products. */
inlined s16x16 mul_high(s16x16 a, s16 factor)
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
 * x / 5 rounded down, for x from -DIGIT_MAX on: 13108 / 2^16 is 1 / 5 and less
 * than 1.3 * 10^-5 more, which comes to less than 1 / 5 for what is below 15000.
 */
inlined s16x16 fifth_of(s16x16 x)
{
	const s16 multiple = (DIGIT_MAX + 4) / 5;

	return mul_high(x + (s16)(5 * multiple), 13108) - multiple;
}

/**
 * digits_avx2_fifth() - a[] = a[] / 5, of a multiple of 5
 * @a: the digits; one more is read, of those above
 * @count: how many; a multiple of DIGITS_AT_ONCE
 * @carry: from the digits below
 *
 * What is left of a digit, 0 to 4, is that many fifths of the base in the digit
 * below: so none waits for another.
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
 * The low 16 bits of integers in doubles that SHIFT was added to: their last bits
 * are those of the integer.
 */
inlined s16x16 low_bits(double4 a, double4 b, double4 c, double4 d)
{
	s16x16 ab = shuffle((s16x16)a, (s16x16)((s32x8)b << 16), 0, 17, 2, 19, 4,
			    21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31);
	s16x16 cd = shuffle((s16x16)c, (s16x16)((s32x8)d << 16), 0, 17, 2, 19, 4,
			    21, 6, 23, 8, 25, 10, 27, 12, 29, 14, 31);
	/* a0 b0 a1 b1 c0 d0 c1 d1, and the same of 2 and 3 */
	s16x16 all = (s16x16)shuffle((float8)ab, (float8)cd, 0, 2, 8, 10, 4, 6,
				     12, 14);
	/* a0 a1 b0 b1 c0 c1 d0 d1, likewise; then pair by pair */
	s32x8 pairs = (s32x8)shuffle(all, all, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9,
				     11, 12, 14, 13, 15);

	return (s16x16)shuffle(pairs, pairs, 0, 4, 1, 5, 2, 6, 3, 7);
}

/**
 * digits_avx2_from_doubles() - digits of a number, from coefficients
 * @digit: where the digits go
 * @x: the first coefficient; four lie behind each other, and the next four
 *	8 places behind these
 * @count: how many; a multiple of DIGITS_AT_ONCE
 * @scale: what to multiply them by; then each is near an integer of less than
 *	8 * DIGIT_BASE^3
 * @carry: from the digits below, and then to those above
 *
 * A coefficient is taken apart by what it is when divided by the powers of the
 * base, rounded: of the integer X and its quotients Q1, Q2, Q3, the place gets X -
 * B Q1, the next one Q1 - B Q2, then Q2 - B Q3 and Q3. The first three are at most
 * B / 2, since what is rounded is off by less than 1 / 2 of an integer. Where these
 * differences are known to be small, 16 bits are enough for all of them. A digit
 * is the sum of four, less than 15010, and carries once.
 */
void digits_avx2_from_doubles(s16 *digit, const double *x, size_t count,
			      double scale, struct digits_carry *carry)
{
	const double shift = 0x1.8p52; /* below that, doubles are integers */
	const s16x16 half = broadcast(DIGIT_BASE / 2);
	s16x16 below = broadcast(carry->up), below1 = broadcast(carry->sum[0]);
	s16x16 below2 = broadcast(carry->sum[1]);
	s16x16 below3 = broadcast(carry->sum[2]);

	for (size_t i = 0; i < count; i += DIGITS_AT_ONCE, x += 32) {
		const double4 *a = (const double4 *)x, *b = a + 2, *c = a + 4,
			      *d = a + 6;
		s16x16 part[4], sum[3], up;
		double factor = scale;

#pragma GCC unroll 4
		for (int k = 0; k < 4; k++, factor /= DIGIT_BASE)
			part[k] = low_bits(*a * factor + shift,
					   *b * factor + shift,
					   *c * factor + shift,
					   *d * factor + shift);
		sum[2] = part[2] - part[3] * (s16)DIGIT_BASE +
			 up1(below3, part[3]);
		sum[1] = part[1] - part[2] * (s16)DIGIT_BASE +
			 up1(below2, sum[2]);
		sum[0] = part[0] - part[1] * (s16)DIGIT_BASE +
			 up1(below1, sum[1]);
		up = (sum[0] < -half) - (sum[0] > half);
		store(digit + i,
		      sum[0] - up * (s16)DIGIT_BASE + up1(below, up));
		below = up;
		below1 = sum[1];
		below2 = sum[2];
		below3 = part[3];
	}
	carry->up = below[15];
	carry->sum[0] = below1[15];
	carry->sum[1] = below2[15];
	carry->sum[2] = below3[15];
}

/*
 * Bits @low, for the lower eight places, and @high, two for each place, of which
 * the lower one counts: as vector of -1 and 0.
 */
inlined s16x16 mask_of(unsigned int bits)
{
	const s16x16 bit = { 1,	      1 << 2,  1 << 4,	1 << 6, 1 << 8, 1 << 10,
			     1 << 12, 1 << 14, 1,	1 << 2, 1 << 4, 1 << 6,
			     1 << 8,  1 << 10, 1 << 12, 1 << 14 };
	s16 low = bits, high = bits >> 16;
	s16x16 x = { low,  low,	 low,  low,  low,  low,	 low,  low,
		     high, high, high, high, high, high, high, high };

	return (x & bit) != 0;
}

/* Two bits for each place: those of a vector of -1 and 0. */
inlined unsigned int bits_of(s16x16 mask)
{
	typedef char bytes __attribute__((vector_size(32)));

	return __builtin_ia32_pmovmskb256((bytes)mask);
}

/**
 * digits_avx2_make_unique() - make all digits 0 to 9999
 * @a: the digits
 * @count: how many; a multiple of DIGITS_AT_ONCE
 * @borrow: whether the digits below borrow
 *
 * A digit borrows if it is negative, or if it is 0 and the one below borrows. That
 * is how carries run through an addition of two bits a place, of which both are
 * set in one number where a digit is negative, and in the other where it is
 * negative or 0: carry look-ahead by the processor's own adder.
 *
 * Return: whether the top digit borrows.
 */
bool digits_avx2_make_unique(s16 *a, size_t count, bool borrow)
{
	for (size_t i = 0; i < count; i += DIGITS_AT_ONCE) {
		s16x16 x = load(a + i);
		u64 negative = bits_of(x < 0);
		u64 not_above = bits_of(x <= 0);
		u64 sum = negative + not_above + borrow;

		borrow = sum >> 32;
		/* Where a carry comes in, the sum differs from one without. */
		x += mask_of(sum ^ negative ^ not_above);
		store(a + i, x + ((x < 0) & (s16)DIGIT_BASE));
	}
	return borrow;
}

/**
 * digits_avx2_print() - write digits as text, four characters each
 * @text: where they go, the most significant first
 * @digit: the digits, 0 to 9999
 * @count: how many; a multiple of 8
 *
 * Division by multiplication: 5243 / 2^19 is 1 / 100 and less than 10^-6 more, and
 * 103 / 2^10 is 1 / 10 and less than 0.0006 more, both right for what comes.
 */
void digits_avx2_print(char *text, const s16 *digit, size_t count)
{
	typedef unsigned short u16x16 __attribute__((vector_size(32)));

	for (size_t i = count; i >= 8; i -= 8, text += 8 * DIGIT_WIDTH) {
		u16x16 pairs, tens;
		s32x8 x, hundreds;
		s16x8 group;

		__builtin_memcpy(&group, digit + i - 8, sizeof(group));
		x = __builtin_convertvector(group, s32x8);
		x = shuffle(x, x, 7, 6, 5, 4, 3, 2, 1, 0);
		hundreds = x * 5243 >> 19;
		/* The hundreds in the lower half, the rest in the upper one. */
		pairs = (u16x16)((x << 16) - hundreds * ((100 << 16) - 1));
		tens = pairs * 103 >> 10;
		pairs = tens + ((pairs - tens * 10) << 8) + 0x3030;
		__builtin_memcpy(text, &pairs, sizeof(pairs));
	}
}

#endif
