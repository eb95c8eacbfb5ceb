/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Natural numbers of any size, in base 10^18.
 */
#ifndef BIGNUM_H
#define BIGNUM_H

#include "stage.h"

typedef u64 limb_t;
#define LIMB_BASE 1000000000000000000ULL
#define LIMB_DIGITS 18

/**
 * struct bignum - a natural number on the heap
 * @limb: its limbs, each less than LIMB_BASE, the least significant first
 * @size: number of limbs, at least 1; the top limb is 0 only in the number 0
 * @capacity: number of limbs for which there is memory
 * @call: the account for its memory and its work
 * @room: work space for long products; all numbers of a block share it
 * @ntt: work space for very long products, also shared
 */
struct bignum {
	limb_t *limb;
	size_t size;
	size_t capacity;
	struct fib_call *call;
	void *room;
	struct ntt *ntt;
};

struct bignum *bn_create(struct fib_call *call, size_t count, size_t size);
void bn_free(struct bignum *a);
void bn_swap(struct bignum *a, struct bignum *b);
void bn_add(struct bignum *c, const struct bignum *a, const struct bignum *b);
void bn_sub(struct bignum *c, const struct bignum *a, const struct bignum *b);
void bn_increase(struct bignum *a, limb_t b);
void bn_decrease(struct bignum *a, limb_t b);
void bn_div5(struct bignum *c, const struct bignum *a);
int bn_mul(struct bignum *c, const struct bignum *a, const struct bignum *b);
int bn_square(struct bignum *c, const struct bignum *a);

#endif
