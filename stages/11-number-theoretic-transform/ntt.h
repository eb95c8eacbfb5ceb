/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Products of very long numbers by a number-theoretic transform.
 */
#ifndef NTT_H
#define NTT_H

#include "bignum.h"

/* Minimum limbs of the shorter factor to use this method. */
#define NTT_LIMBS 673

size_t ntt_room(size_t size);
struct ntt *ntt_create(void *room, size_t size);
int ntt_mul(struct fib_call *call, limb_t *c, const limb_t *a, size_t a_size,
	    const limb_t *b, size_t b_size, struct ntt *ntt);

#endif
