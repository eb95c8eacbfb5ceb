/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Natural numbers of any size.
 */
#ifndef BIGNUM_H
#define BIGNUM_H

#include "stage.h"

typedef u32 limb_t;
typedef u64 dlimb_t; /* can hold a product of two limbs plus two limbs */
#define LIMB_BITS 32

/**
 * struct bignum - a natural number on the heap
 * @limb: its limbs, the least significant first
 * @size: number of limbs, at least 1; the top limb is 0 only in the number 0
 * @capacity: number of limbs for which there is memory
 * @call: the account for its memory and its work
 */
struct bignum {
	limb_t *limb;
	size_t size;
	size_t capacity;
	struct fib_call *call;
};

static inline bool bn_is_zero(const struct bignum *a)
{
	return a->size == 1 && !a->limb[0];
}

/* The number of bits of @a without leading zeros, but at least 1. */
static inline size_t bn_bits(const struct bignum *a)
{
	/* "| 1" because clz is undefined for 0. */
	return a->size * LIMB_BITS - __builtin_clz(a->limb[a->size - 1] | 1);
}

/* Bit @i of @a, with 0 <= i < bn_bits(a). */
static inline bool bn_bit(const struct bignum *a, size_t i)
{
	return a->limb[i / LIMB_BITS] >> i % LIMB_BITS & 1;
}

struct bignum *bn_create(struct fib_call *call, size_t size);
void bn_free(struct bignum *a);
int bn_copy(struct bignum *c, const struct bignum *a);
int bn_add(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_sub(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_lshift(struct bignum *c, const struct bignum *a, size_t bits);
int bn_mul(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_square(struct bignum *c, const struct bignum *a);

#endif
