/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Natural numbers of any size.
 */
#ifndef BIGNUM_H
#define BIGNUM_H

#include "stage.h"

typedef u32 limb_t;
typedef u64 dlimb_t; /* twice as wide: a product of limbs and two limbs more */
#define LIMB_BITS 32

/* a * b, of which the lower limb is returned; the upper one goes to @high. */
static inline limb_t limb_mul(limb_t *high, limb_t a, limb_t b)
{
	dlimb_t product = (dlimb_t)a * b;

	*high = product >> LIMB_BITS;
	return product;
}

/**
 * struct bignum - a natural number on the heap
 * @limb: its limbs, the least significant first
 * @size: how many; at least 1, and the top one is 0 only in the number 0
 * @capacity: how many there is room for
 * @call: the call that pays for it, in memory and in work
 */
struct bignum {
	limb_t *limb;
	size_t size;
	size_t capacity;
	struct fib_call *call;
};

struct bignum *bn_create(struct fib_call *call, size_t size);
void bn_free(struct bignum *a);
int bn_copy(struct bignum *c, const struct bignum *a);
int bn_add(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_sub(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_lshift(struct bignum *c, const struct bignum *a, size_t bits);
int bn_mul(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_square(struct bignum *c, const struct bignum *a);

#endif
