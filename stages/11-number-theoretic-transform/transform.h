/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Number-theoretic transforms: from the coefficients of a polynomial to its
 * values at roots of unity, and back.
 */
#ifndef TRANSFORM_H
#define TRANSFORM_H

#include "field.h"

#define TRANSFORM_POINTS_MAX ((size_t)1 << 19)

/* Points between two calls of fib_account_work, and the work for each point. */
#define AT_ONCE ((size_t)4096)
#define POINT_WORK 4

/**
 * struct ntt - the data that all transforms of one call share
 * @f: the points of a factor, and then of the product
 * @g: the points of the other factor
 * @minus_one: the number -1 modulo P
 * @made: number of roots computed so far
 * @roots: the factor of each node
 */
struct ntt {
	u64 *f;
	u64 *g;
	struct shoup_factor minus_one;
	size_t made;
	struct shoup_factor roots[];
};

/**
 * struct shape - the points of a truncated transform
 * @main: number of points of x^main - 1; a power of 2
 * @parts: @main / the number of additional points, 2 or 4; 0 for none
 */
struct shape {
	size_t main;
	size_t parts;
};

static inline size_t truncated_points(struct shape s)
{
	return s.main + (s.parts ? s.main / s.parts : 0);
}

struct shape truncated_shape(size_t points);
int transform_roots(struct fib_call *call, struct ntt *ntt, struct shape s);
int transform(struct fib_call *call, u64 *f, struct shape s,
	      const struct ntt *ntt);
int transform_back(struct fib_call *call, u64 *f, struct shape s,
		   const struct ntt *ntt);
struct shoup_factor transform_scale(struct shape s);

#endif
