/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Products of long numbers by Karatsuba's method.
 */
#ifndef KARATSUBA_H
#define KARATSUBA_H

#include "bignum.h"

/*
 * Minimum limbs of the shorter factor, or of a square, to use this method.
 */
#define KARATSUBA_LIMBS 43
#define KARATSUBA_SQUARE_LIMBS 65

size_t karatsuba_room(size_t size);
int karatsuba_mul(struct fib_call *call, limb_t *c, const limb_t *a,
		  size_t a_size, const limb_t *b, size_t b_size, void *room);

#endif
