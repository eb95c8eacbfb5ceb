// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Detect whether memory holds a number in any encoding: limbs of one, two, four
 * or eight bytes, to the base 2^b or 10^d, the least or the most significant
 * limb first, or digits as characters.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "contract_tests.h"

/* The residue modulo this prime identifies a number. */
#define PRIME 4294967291ULL
/* The minimum bits of a limb; a number in smaller limbs is not expected. */
#define LEAST_BITS 4

/* Properties by which a number is recognised in memory. */
struct number {
	u64 bits; /* the lowest 64 bits */
	u64 digits; /* the lowest 19 decimal digits, as a number */
	u64 rest; /* the number modulo PRIME */
	size_t count; /* the number of decimal digits */
};

/* An encoding of limbs. */
struct form {
	unsigned int bytes; /* the size of a limb in memory */
	unsigned int power; /* the bits or decimal digits in a limb */
	bool decimal;
	bool characters;
	u64 base; /* 0 for 2^64 */
	u64 base_rest; /* the base modulo PRIME */
	u64 lowest; /* the value of the number's lowest limb */
};

static u64 power_of_ten(unsigned int power)
{
	u64 product = 1;

	while (power--)
		product *= 10;
	return product;
}

static u64 modulo(u64 value, u64 base)
{
	return base ? value - base * div64_u64(value, base) : value;
}

static u64 limb_at(const char *at, const struct form *form)
{
	u64 limb = 0;

	memcpy(&limb, at, form->bytes); /* little-endian, as x86 */
	return form->characters ? limb - '0' : limb;
}

/*
 * Return limb @index of a number, computed from the number's lowest bits or
 * digits.
 */
static u64 known_limb(const struct number *number, const struct form *form,
		      unsigned int index)
{
	u64 rest = form->decimal ?
			   div64_u64(number->digits,
				     power_of_ten(index * form->power)) :
			   number->bits >> index * form->power;

	return modulo(rest, form->base);
}

static struct form form_of(const struct number *number, unsigned int bytes,
			   unsigned int power, bool decimal)
{
	struct form form = {
		.bytes = bytes,
		.power = power,
		.decimal = decimal,
	};
	u64 half = (1ULL << 32) % PRIME;

	if (decimal)
		form.base = power_of_ten(power);
	else if (power < 64)
		form.base = 1ULL << power;
	form.base_rest = (form.base ?: half * half) % PRIME;
	form.lowest = known_limb(number, &form, 0);
	return form;
}

/*
 * Return whether the limbs at @at, @at + @step and so on, in a block of @room
 * bytes, are the number.
 */
static bool limbs_at(const char *at, size_t room, int step,
		     const struct number *number, const struct form *form)
{
	unsigned int known = (form->decimal ? 19 : 64) / form->power;
	u64 sum = 0, place = 1;
	size_t least;

	/* A decimal digit has 3.3219 bits. */
	least = form->decimal ? DIV_ROUND_UP(number->count, form->power) :
				div_u64((u64)(number->count - 1) * 33219,
					10000 * form->power);
	for (size_t i = 0; i < room / form->bytes && i <= least + 1; i++) {
		u64 limb = limb_at(at, form);

		if (i < known && limb != known_limb(number, form, i))
			return false;
		sum = (sum + limb % PRIME * place) % PRIME;
		if (i + 1 >= least && sum == number->rest)
			return true;
		place = place * form->base_rest % PRIME;
		at += step;
	}
	return false;
}

static bool form_in(const char *block, size_t bytes,
		    const struct number *number, const struct form *form)
{
	int width = form->bytes;

	/* Limbs of eight bytes may begin at a multiple of four. */
	for (size_t at = 0; at + width <= bytes; at += min(width, 4)) {
		if (limb_at(block + at, form) != form->lowest)
			continue;
		if (limbs_at(block + at, bytes - at, width, number, form) ||
		    limbs_at(block + at, at + width, -width, number, form))
			return true;
	}
	return false;
}

/* Return whether memory holds the number in limbs of @width bytes. */
static bool limbs_in(const char *block, size_t bytes,
		     const struct number *number, unsigned int width)
{
	struct form form;

	for (unsigned int bits = 8 * width; bits >= LEAST_BITS; bits--) {
		form = form_of(number, width, bits, false);
		if (form_in(block, bytes, number, &form))
			return true;
	}
	/* A byte holds up to 2.4 decimal digits. */
	for (unsigned int digits = 19 * width / 8; digits; digits--) {
		form = form_of(number, width, digits, true);
		if (form_in(block, bytes, number, &form))
			return true;
	}
	form.characters = true;
	return form_in(block, bytes, number, &form);
}

bool number_in(const char *block, size_t bytes, const char *digits,
	       size_t count)
{
	struct number number = { .count = count };

	for (size_t left = count; left; left--) {
		u64 digit = *digits++ - '0';

		number.bits = number.bits * 10 + digit;
		number.rest = (number.rest * 10 + digit) % PRIME;
		if (left <= 19)
			number.digits = number.digits * 10 + digit;
	}
	for (unsigned int width = 8; width; width /= 2)
		if (limbs_in(block, bytes, &number, width))
			return true;
	return false;
}
