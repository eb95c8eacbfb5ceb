/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Numbers of a stage as text: hexadecimal up to stage 7, decimal from stage 8 on.
 */
#ifndef FUNCTION_TESTS_TEXT_H
#define FUNCTION_TESTS_TEXT_H

#include "unit_tests.h"
#include "bignum_adapter.h"

/**
 * struct operand - a number that has been read, and what is to be in it still
 * @number: the stage's own; NULL for none
 * @limbs: where its limbs are
 * @size: how many
 * @copy: a copy of them
 */
struct operand {
	struct bignum *number;
	void *limbs;
	size_t size;
	void *copy;
};

size_t tests_limb_digits(void);

/* The limbs that a number of so many digits takes. */
size_t tests_limbs_for(size_t digits);

/* A new number, with room for @size limbs; ends the program where there is none. */
struct bignum *tests_new_number(struct fib_call *call, size_t size);

/* The number @text stands for, with room for @capacity limbs or its own; maybe on pages apart. */
struct operand tests_read_operand(struct fib_call *call, const char *text,
				  size_t capacity, bool on_pages_apart);

/* Whether it still is what it was. */
bool tests_is_unchanged(const struct operand *operand);
void tests_free_operand(struct operand *operand);

#endif
