// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Read and print numbers of a stage as text. This file treats limbs as bytes
 * and checks the addresses that the stage returns, because the stage is not
 * trusted.
 */
#include <sanitizer/asan_interface.h>

#include "number_io.h"

#define DECIMAL STAGE_LIMB_IS_DECIMAL
/*
 * Binary numbers that are preallocated are created several at a time, to test
 * that each has its own limbs: mostly two, and up to MOST_AT_A_TIME short ones.
 */
#define SEVERAL (STAGE_RESULT_IS_PREALLOCATED && !DECIMAL)
#define MOST_AT_A_TIME 70
#define SHORT_LIMBS 24
/*
 * The initial bytes of a decimal result. They form an invalid limb, so that a
 * limb that is not written is found.
 */
#define FILL 0xbe

/*
 * tests/test_operands.py needs 100,000 operands, too many for pages of their
 * own.
 */
#ifndef OPERANDS_ON_PAGES
#define OPERANDS_ON_PAGES true
#endif

/* The encoding of a number in limbs. */
static struct form {
	size_t bytes;
	size_t digits;
	u64 base; /* each decimal limb must be less than this */
} form;

/*
 * Call tested_limbs() only once, so that the stage cannot change the limbs
 * later.
 */
static const struct form *form_of_limbs(void)
{
	bool limbs_hold_their_digits;

	if (form.bytes)
		return &form;
	form.bytes = tested_limb_bytes();
	form.digits = tested_limb_digits();
	limbs_hold_their_digits =
		(form.bytes == 1 || form.bytes == 2 || form.bytes == 4 ||
		 form.bytes == 8) &&
		form.digits &&
		form.digits <= (DECIMAL ? form.bytes * 8 * 30103 / 100000 :
					  form.bytes * 2);
	assert(limbs_hold_their_digits);
	form.base = 1;
	for (size_t i = 0; DECIMAL && i < form.digits; i++)
		form.base *= 10;
	return &form;
}

size_t tests_limb_digits(void)
{
	return form_of_limbs()->digits;
}

size_t tests_limbs_for(size_t digits)
{
	return (digits + tests_limb_digits() - 1) / tests_limb_digits();
}

static u64 limb_at(const void *limbs, size_t i)
{
	size_t bytes = form_of_limbs()->bytes;
	u64 limb = 0;

	memcpy(&limb, (const char *)limbs + i * bytes, bytes);
	return limb;
}

struct bignum *tests_new_number(struct fib_call *call, size_t size)
{
	static size_t created;
	size_t most = size > SHORT_LIMBS && created % 64 ? 9 : MOST_AT_A_TIME;
	size_t numbers = !SEVERAL    ? 1 :
			 created % 8 ? 2 :
				       1 + created / 8 * 7 % most;
	size_t limb_bytes = form_of_limbs()->bytes;
	u64 taken = allocator.taken;
	struct bignum *a = tested_create(call, numbers, size);
	bool it_returns_a_number_or_ENOMEM =
		(unsigned long)a < (unsigned long)-4095;

	created++;
	if (!a) {
		printf("ENOMEM\n");
		exit(0);
	}
	assert(it_returns_a_number_or_ENOMEM);
	for (size_t i = 0; i < numbers; i++) {
		bool each_number_has_the_account =
			tested_call(tested_at(a, i)) == call;

		assert(each_number_has_the_account);
	}
	if (DECIMAL)
		memset(tested_limbs(a), FILL, size * limb_bytes);
	if (!SEVERAL)
		return a;
	bool all_are_in_one_block = allocator.taken == taken + 1;

	assert(all_are_in_one_block);
	for (size_t i = 0; i < numbers; i++) {
		struct bignum *each = tested_at(a, i);
		const char *behind_all = (char *)tested_at(a, numbers);
		bool its_limbs_follow_those_before =
			tested_limbs(each) ==
			behind_all + i * size * limb_bytes;
		bool each_number_is_0 = tested_size(each) == 1 &&
					!limb_at(tested_limbs(each), 0);
		bool each_has_the_capacity = tested_capacity(each) == size;

		assert(its_limbs_follow_those_before);
		assert(each_number_is_0);
		assert(each_has_the_capacity);
	}
	/* The sanitizer reports a capacity that is larger than the memory. */
	for (size_t i = 0; i < numbers; i++)
		memset(tested_limbs(tested_at(a, i)), i,
		       tested_capacity(tested_at(a, i)) * limb_bytes);
	for (size_t i = 0; i < numbers; i++) {
		const char *limbs = tested_limbs(tested_at(a, i));
		bool each_has_its_own_limbs = true;

		for (size_t j = 0; j < size * limb_bytes; j++)
			each_has_its_own_limbs &= limbs[j] == (char)i;
		assert(each_has_its_own_limbs);
	}
	/* Only the first number is used, and must not use more than its capacity. */
	for (size_t i = 1; i < numbers; i++)
		ASAN_POISON_MEMORY_REGION(tested_limbs(tested_at(a, i)),
					  tested_capacity(tested_at(a, i)) *
						  limb_bytes);
	return a;
}

static u64 value_of(char digit)
{
	return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/*
 * Fill the memory above a number with limbs that are 0, or as large as possible,
 * or not valid: a function that uses them must not be right by chance.
 */
static void fill_above(struct bignum *a, char *limbs, size_t size)
{
	static size_t filled;
	const struct form *f = form_of_limbs();
	u64 limb = (u64[]){ 0, DECIMAL ? f->base - 1 : ~0ULL,
			    ~0ULL / 255 * FILL }[filled++ % 3];

	for (size_t i = size; i < tested_capacity(a); i++)
		memcpy(limbs + i * f->bytes, &limb, f->bytes);
}

/* Return the limbs of @text in a new block that the stage did not allocate. */
static void *limbs_of(const char *text, size_t size)
{
	const struct form *f = form_of_limbs();
	size_t end = strlen(text);
	char *limbs = calloc(size, f->bytes);

	assert(limbs);
	for (size_t place = 0; place < size; place++) {
		size_t begin = end - min(end, f->digits);
		u64 limb = 0;

		for (size_t j = begin; j < end; j++)
			limb = limb * (DECIMAL ? 10 : 16) + value_of(text[j]);
		memcpy(limbs + place * f->bytes, &limb, f->bytes);
		end = begin;
	}
	return limbs;
}

struct operand tests_read_operand(struct fib_call *call, const char *text,
				  size_t capacity, bool on_pages_apart)
{
	size_t size = tests_limbs_for(strlen(text));
	size_t bytes = size * form_of_limbs()->bytes;
	struct operand a = {
		.size = size,
		.copy = limbs_of(text, size),
	};
	bool it_is_in_blocks_of_fib_alloc;

	on_pages_apart &= OPERANDS_ON_PAGES;
	apart(on_pages_apart);
	a.number = tests_new_number(call, max(size, capacity));
	tested_set_size(a.number, size);
	a.limbs = tested_limbs(a.number);
	apart(false);
	/* No code of the stage may run between this memcpy and protect(). */
	memcpy(a.limbs, a.copy, bytes);
	fill_above(a.number, a.limbs, size);
	it_is_in_blocks_of_fib_alloc =
		!on_pages_apart ||
		(tests_is_apart(a.number, 1) && tests_is_apart(a.limbs, bytes));
	assert(it_is_in_blocks_of_fib_alloc);
	return a;
}

bool tests_is_unchanged(const struct operand *operand)
{
	return !operand->number ||
	       (tested_limbs(operand->number) == operand->limbs &&
		tested_size(operand->number) == operand->size &&
		!memcmp(operand->limbs, operand->copy,
			operand->size * form_of_limbs()->bytes));
}

void tests_free_operand(struct operand *operand)
{
	if (operand->number)
		tested_free(operand->number);
	free(operand->copy);
}

static char reason[64];

const char *tests_size_fault_of(const struct bignum *a)
{
	size_t size = tested_size(a), capacity = tested_capacity(a);

	if (size && size <= capacity)
		return "";
	snprintf(reason, sizeof(reason), "SIZE %zu %zu", size, capacity);
	return reason;
}

const char *tests_fault_of(const struct bignum *a)
{
	const void *limbs = tested_limbs((struct bignum *)a);
	const struct form *f = form_of_limbs();
	u64 unwritten = ~0ULL / 255 * FILL >> (64 - 8 * f->bytes);
	size_t size = tested_size(a);

	if (*tests_size_fault_of(a))
		return reason;
	for (size_t i = 0; DECIMAL && i < size; i++) {
		if (limb_at(limbs, i) < f->base)
			continue;
		if (limb_at(limbs, i) == unwritten)
			snprintf(reason, sizeof(reason), "LIMB %zu unwritten",
				 i);
		else
			snprintf(reason, sizeof(reason), "LIMB %zu %llu", i,
				 limb_at(limbs, i));
		return reason;
	}
	if (size == 1 || limb_at(limbs, size - 1))
		return "";
	return "UNTRIMMED";
}

void print_value(const union fib_value *f)
{
	const char *fault = tests_fault_of(f->big);
	const void *limbs = tested_limbs(f->big);
	size_t size = tested_size(f->big);
	int width = (int)tests_limb_digits();

	if (*fault) {
		printf("%s", fault);
		return;
	}
	printf(DECIMAL ? "%llu" : "%llx", limb_at(limbs, size - 1));
	while (--size)
		printf(DECIMAL ? "%0*llu" : "%0*llx", width,
		       limb_at(limbs, size - 1));
}
