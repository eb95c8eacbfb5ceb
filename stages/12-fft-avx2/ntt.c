// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Products by a number-theoretic transform. A number is a polynomial whose
 * coefficients have six decimal digits each. Its values at enough points
 * determine it, and the values of a product are the products of the values. The
 * points are roots of unity modulo a prime P, so the values, and from them the
 * coefficients, take O(n log n) steps. (Knuth, volume 2, 4.3.3 C; Pollard, "The
 * fast Fourier transform in a finite field", 1971.)
 *
 * In a product of N coefficients each is a sum of at most N / 2 products, of
 * less than 10^12 each. With N <= 2^19 that is less than 2.63 * 10^17, and P is
 * more than 2.88 * 10^17, so a coefficient is known if it is known modulo P.
 */
#include "ntt.h"
#include "transform.h"

#define POINT_BASE 1000000
#define LIMB_POINTS 3

/**
 * ntt_room() - return the size of the work space for ntt_create in bytes
 * @size: limbs of the longest product
 */
size_t ntt_room(size_t size)
{
	struct shape s = truncated_shape(size * LIMB_POINTS);

	return size_add(
		sizeof(struct ntt),
		size_add(array_size(s.main, sizeof(struct shoup_factor)),
			 array_size(2 * truncated_points(s), sizeof(u64))));
}

/**
 * ntt_create() - set up the transforms of one call
 * @room: work space of ntt_room() bytes
 * @size: limbs of the longest product
 */
struct ntt *ntt_create(void *room, size_t size)
{
	struct shape s = truncated_shape(size * LIMB_POINTS);
	struct ntt *ntt = room;

	ntt->f = (u64 *)(ntt->roots + s.main);
	ntt->g = ntt->f + truncated_points(s);
	ntt->minus_one = shoup_factor_of(PRIME - 1);
	ntt->roots[0] = shoup_factor_of(1);
	ntt->made = 1;
	return ntt;
}

/*
 * f[] = the coefficients of a number, six digits each, and zeros up to @points.
 * These are plain 64-bit divisions.
 */
static int points_of(struct fib_call *call, u64 *f, size_t points,
		     const limb_t *a, size_t a_size)
{
	int err;

	for (size_t i = 0; i < a_size; i++) {
		limb_t above = a[i] / POINT_BASE;

		if (i % AT_ONCE == 0) {
			err = fib_account_work(call, AT_ONCE * POINT_WORK);
			if (err)
				return err;
		}
		f[LIMB_POINTS * i] = a[i] % POINT_BASE;
		f[LIMB_POINTS * i + 1] = above % POINT_BASE;
		f[LIMB_POINTS * i + 2] = above / POINT_BASE;
	}
	memset(f + LIMB_POINTS * a_size, 0,
	       (points - LIMB_POINTS * a_size) * sizeof(*f));
	return 0;
}

/* c[] = the number with coefficients f[], each times @scale */
static int limbs_of(struct fib_call *call, limb_t *c, size_t size, const u64 *f,
		    struct shoup_factor scale)
{
	struct carry carry = {};
	int err;

	for (size_t i = 0; i < size; i++, f += LIMB_POINTS) {
		column_t column =
			(column_t)subtract_prime(shoup_mul(f[2], scale)) *
			((u64)POINT_BASE * POINT_BASE);

		if (i % AT_ONCE == 0) {
			err = fib_account_work(call, AT_ONCE * POINT_WORK);
			if (err)
				return err;
		}
		column += (column_t)subtract_prime(shoup_mul(f[1], scale)) *
			  POINT_BASE;
		column += subtract_prime(shoup_mul(f[0], scale));
		c[i] = column_limb(&carry, carry.large + column);
	}
	fib_assert(!carry.large && !carry.small);
	return 0;
}

/* f[] = f[] * g[], point by point; the products are less than 4 P. */
static int mul_points(struct fib_call *call, u64 *f, const u64 *g,
		      size_t points)
{
	int err;

	for (size_t i = 0; i < points; i++) {
		if (i % AT_ONCE == 0) {
			err = fib_account_work(call, AT_ONCE * POINT_WORK);
			if (err)
				return err;
		}
		f[i] = solinas_mul(f[i], g[i]);
	}
	return 0;
}

/**
 * ntt_mul() - c[] = a[] * b[]
 * @call: the call that does the work
 * @c: the product, a_size + b_size limbs
 * @a: a factor
 * @a_size: number of limbs of @a
 * @b: a factor; for a square pass @a, which is faster
 * @b_size: number of limbs of @b
 * @ntt: from ntt_create, for at least as many limbs
 *
 * Return: 0 or -EINTR.
 */
int ntt_mul(struct fib_call *call, limb_t *c, const limb_t *a, size_t a_size,
	    const limb_t *b, size_t b_size, struct ntt *ntt)
{
	struct shape s = truncated_shape(LIMB_POINTS * (a_size + b_size));
	size_t points = truncated_points(s);
	u64 *f = ntt->f, *g = f;
	int err;

	fib_assert(points <= TRANSFORM_POINTS_MAX);
	err = transform_roots(call, ntt, s);
	if (err)
		return err;
	err = points_of(call, f, points, a, a_size);
	if (err)
		return err;
	err = transform(call, f, s, ntt);
	if (err)
		return err;
	if (a != b) {
		g = ntt->g;
		err = points_of(call, g, points, b, b_size);
		if (err)
			return err;
		err = transform(call, g, s, ntt);
		if (err)
			return err;
	}
	err = mul_points(call, f, g, points);
	if (err)
		return err;
	err = transform_back(call, f, s, ntt);
	if (err)
		return err;
	return limbs_of(call, c, a_size + b_size, f, transform_scale(s));
}
