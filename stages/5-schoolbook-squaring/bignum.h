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

/* Compute a * b. Return the lower limb, and store the upper limb in @high. */
static inline limb_t limb_mul(limb_t *high, limb_t a, limb_t b)
{
	dlimb_t product = (dlimb_t)a * b;

	*high = product >> LIMB_BITS;
	return product;
}

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

struct bignum *bn_create(struct fib_call *call, size_t size);
void bn_free(struct bignum *a);
int bn_copy(struct bignum *c, const struct bignum *a);
int bn_add(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_sub(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_lshift(struct bignum *c, const struct bignum *a, size_t bits);
int bn_mul(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_square(struct bignum *c, const struct bignum *a);

#endif
