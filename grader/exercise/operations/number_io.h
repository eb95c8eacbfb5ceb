/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Read and print numbers as text: hexadecimal up to stage 7, decimal from stage
 * 8 on.
 */
#ifndef FUNCTION_TESTS_TEXT_H
#define FUNCTION_TESTS_TEXT_H

#include "unit_tests.h"
#include "bignum_adapter.h"

/**
 * struct operand - a number that was read, and a copy to detect changes
 * @number: the number in the stage's format; NULL if there is no operand
 * @limbs: the address of the number's limbs
 * @size: the number of limbs
 * @copy: a copy of the limbs
 */
struct operand {
	struct bignum *number;
	void *limbs;
	size_t size;
	void *copy;
};

size_t tests_limb_digits(void);

/* Return the number of limbs that a number of @digits digits takes. */
size_t tests_limbs_for(size_t digits);

/*
 * Return a new number with capacity for @size limbs. End the program if there
 * is no memory.
 */
struct bignum *tests_new_number(struct fib_call *call, size_t size);

/*
 * Return the number in @text, with capacity for @capacity limbs, or for its own
 * limbs if it has more. With @on_pages_apart its blocks are on pages that can
 * be protected.
 */
struct operand tests_read_operand(struct fib_call *call, const char *text,
				  size_t capacity, bool on_pages_apart);

/* Return whether the operand still has the limbs that were read. */
bool tests_is_unchanged(const struct operand *operand);
void tests_free_operand(struct operand *operand);

/*
 * Return the reason why @a is no valid number, in the words that unit_tests.py
 * reads, or "".
 */
const char *tests_fault_of(const struct bignum *a);

/* The same for its size alone. After an error a number has no other value. */
const char *tests_size_fault_of(const struct bignum *a);

#endif
