/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Arithmetic modulo the prime P = 2^58 - C, with C = 6 * 2^24 - 1, in u64.
 *
 * P is a pseudo-Mersenne prime (Solinas, "Generalized Mersenne numbers", 1999):
 * 2^58 is C modulo P, so the bits above the lowest 58 can be multiplied by C
 * and added to the lowest 58. P - 1 is a multiple of 2^25, so roots of unity
 * exist of every order that is a power of 2, up to 2^25.
 *
 * A number modulo P has many representations. The comment of each function
 * states its range, for arguments and results, in multiples of P. 64 bits can
 * hold 64 P.
 */
#ifndef FIELD_H
#define FIELD_H

#include "column.h"

#define PRIME_BITS 58
#define PRIME_C 100663295ULL
#define PRIME ((1ULL << PRIME_BITS) - PRIME_C)

/**
 * struct shoup_factor - a constant to multiply by, less than P
 * @w: the factor
 * @quotient: w * 2^64 / P, rounded down
 */
struct shoup_factor {
	u64 w;
	u64 quotient;
};

/* Return x modulo P, for any x; the result is less than 2^58 + 64 * C < 2 P. */
static inline u64 solinas_fold(u64 x)
{
	return x - (x >> PRIME_BITS) * PRIME;
}

/*
 * Return x, or x - P if x >= P. x must be less than 2 P; the result is less
 * than P.
 */
static inline u64 subtract_prime(u64 x)
{
	return x - (-(u64)(x >= PRIME) & PRIME);
}

/*
 * Return x * factor modulo P, less than 2 P, for any x. This is Shoup's
 * multiplication by a constant, which needs no division because the factor's
 * quotient is known. (It comes from his library NTL; Harvey, "Faster arithmetic
 * for number-theoretic transforms", 2014, section 2, proves it.) The computed
 * quotient is at most the quotient of x * w / P. It is too small by less than 1
 * for its own rounding, because x < 2^64, and by less than 1 for that of
 * factor.quotient.
 */
static inline u64 shoup_mul(u64 x, struct shoup_factor factor)
{
	u64 quotient = (column_t)x * factor.quotient >> 64;

	return x * factor.w - quotient * PRIME;
}

/*
 * Return x * y modulo P, less than 3 P, for any x and y. 2^58 is C modulo P, so
 * the bits above the lowest 58 are multiplied by C. The product has up to 59
 * such bits. Times C, they have up to 27 such bits, and these times C are less
 * than 2^54.
 */
static inline u64 solinas_mul(u64 x, u64 y)
{
	const u64 low = (1ULL << PRIME_BITS) - 1;
	column_t product = (column_t)solinas_fold(x) * solinas_fold(y);
	column_t middle = (product >> PRIME_BITS) * PRIME_C;

	return ((u64)product & low) + ((u64)middle & low) +
	       (u64)(middle >> PRIME_BITS) * PRIME_C;
}

/*
 * Return the factor w < P with its quotient. As
 *
 *	1 / P = (1 + C / 2^58 + (C / 2^58)^2 + ...) / 2^58,
 *
 * the quotient is 64 * w + w * C / 2^52, plus less than 4. The missing part
 * follows from the remainder, which is less than 5 P, because w * 2^64 is 0
 * modulo 2^64.
 */
static inline struct shoup_factor shoup_factor_of(u64 w)
{
	struct shoup_factor factor = { .w = w };
	u64 remainder;

	factor.quotient =
		64 * w + (u64)((column_t)w * PRIME_C >> (PRIME_BITS - 6));
	remainder = -(factor.quotient * PRIME);
	factor.quotient += remainder >> PRIME_BITS;
	factor.quotient += solinas_fold(remainder) >= PRIME;
	return factor;
}

/* Return 1 / 2^bits modulo P: it is -(P - 1) / 2^bits, because P - 1 is -1. */
static inline struct shoup_factor inverse_of_power(unsigned int bits)
{
	return shoup_factor_of(PRIME - ((PRIME - 1) >> bits));
}

#endif
