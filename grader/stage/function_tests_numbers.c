// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The one file of the tests that includes the stage's own header. That header may
 * hold macros, so this is compiled, and held to stage.h, as a file of the stage's:
 * what its macros make of it the stage's own functions could do as well. Nothing
 * here judges.
 */
#include "bignum.h"
#include "function_tests_numbers.h"

size_t tested_limb_bytes(void)
{
	return sizeof(limb_t);
}

size_t tested_limb_digits(void)
{
#if STAGE_LIMB_IS_DECIMAL
	return LIMB_DIGITS;
#else
	return LIMB_BITS / 4;
#endif
}

struct bignum *tested_create(struct fib_call *call, size_t count, size_t size)
{
#if STAGE_RESULT_IS_PREALLOCATED
	return bn_create(call, count, size);
#else
	return bn_create(call, size);
#endif
}

struct bignum *tested_at(struct bignum *a, size_t i)
{
	return &a[i];
}

void tested_free(struct bignum *a)
{
	bn_free(a);
}

void *tested_limbs(struct bignum *a)
{
	return a->limb;
}

size_t tested_size(const struct bignum *a)
{
	return a->size;
}

void tested_set_size(struct bignum *a, size_t size)
{
	a->size = size;
}

#if STAGE_LIMB_IS_DECIMAL
size_t tested_capacity(const struct bignum *a)
{
	return a->capacity;
}
#endif

#if STAGE_RESULT_IS_RETURNED
#define INTO(function, ...) (*c = function(__VA_ARGS__), 0)
#define COPY bn_dup
#elif STAGE_RESULT_IS_GROWN
#define INTO(function, ...) function(*c, __VA_ARGS__)
#define COPY bn_copy
#else
#define INTO(function, ...) (function(*c, __VA_ARGS__), 0)
#define COPY bn_copy
#endif

int tested_operate(enum tested_operation what, struct bignum **c,
		   struct bignum *a, struct bignum *b, u64 word)
{
	switch (what) {
	case TESTED_ADD:
		return INTO(bn_add, a, b);
	case TESTED_SUB:
		return INTO(bn_sub, a, b);
#if STAGE_LIMB_IS_DECIMAL
	case TESTED_MUL:
		return bn_mul(*c, a, b);
	case TESTED_SQUARE:
		return bn_square(*c, a);
#else
	case TESTED_MUL:
		return INTO(bn_mul, a, b);
	case TESTED_SQUARE:
		return INTO(bn_square, a);
#endif
#if STAGE_HAS_LSHIFT
	case TESTED_LSHIFT:
		return INTO(bn_lshift, a, word);
#endif
#if STAGE_HAS_COPY
	case TESTED_COPY:
		return INTO(COPY, a);
#endif
#if STAGE_HAS_INCREASE
	case TESTED_INCREASE:
		bn_increase(*c, word);
		return 0;
#endif
#if STAGE_HAS_DECREASE
	case TESTED_DECREASE:
		bn_decrease(*c, word);
		return 0;
#endif
#if STAGE_HAS_DIV5
	case TESTED_DIV5:
		return INTO(bn_div5, a);
#endif
	default:
		return 0;
	}
}
