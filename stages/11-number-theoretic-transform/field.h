/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Arithmetic modulo the prime P = 2^58 - C, with C = 6 * 2^24 - 1, in u64.
 *
 * P is a pseudo-Mersenne prime, and one of Solinas's: 2^58 is C modulo P, so what is
 * above 58 bits comes back below them, multiplied by C. (Solinas, "Generalized
 * Mersenne numbers", 1999.) And P - 1 is a multiple of 2^25, so there are roots of
 * unity of every order up to 2^25 that is a power of 2.
 *
 * A number modulo P has many representations. What each function accepts and
 * returns is said in multiples of P; 64 bits have room for 64 of them.
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

/* The same modulo P; from any x to less than 2^58 + 64 * C < 2 P. */
static inline u64 solinas_fold(u64 x)
{
	return x - (x >> PRIME_BITS) * PRIME;
}

/* The same less P, if it is not less than P; from x < 2 P to x < P. */
static inline u64 subtract_prime(u64 x)
{
	return x - (-(u64)(x >= PRIME) & PRIME);
}

/*
 * x * factor modulo P, less than 2 P, for any x: Shoup's multiplication by a
 * constant, which needs no division because the factor's quotient is known. (It
 * comes from his library NTL; Harvey, "Faster arithmetic for number-theoretic
 * transforms", 2014, section 2, proves it.) The quotient is at most that of
 * x * w / P, and falls short by less than 1 for its own rounding, as x < 2^64, and
 * by less than 1 for that of factor.quotient.
 */
static inline u64 shoup_mul(u64 x, struct shoup_factor factor)
{
	u64 quotient = (column_t)x * factor.quotient >> 64;

	return x * factor.w - quotient * PRIME;
}

/*
 * x * y modulo P, less than 3 P, for any x and y. As 2^58 is C modulo P, what is
 * above 58 bits comes back multiplied by C: first 59 bits, then 27, and then
 * less than 2^54.
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
 * A factor from w < P. As 1 / P = (1 + C / 2^58 + (C / 2^58)^2 ...) / 2^58, its
 * quotient is 64 * w + w * C / 2^52, and less than 4 more. What is missing shows
 * in the remainder, which is less than 5 P, and w * 2^64 is 0 modulo 2^64.
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

/* 1 / 2^bits modulo P: 2^bits * (P - 1) / 2^bits is -1. */
static inline struct shoup_factor inverse_of_power(unsigned int bits)
{
	return shoup_factor_of(PRIME - ((PRIME - 1) >> bits));
}

#endif
