// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The transform halves polynomials. What a polynomial f of degree < m leaves
 * modulo x^m - w^2, it leaves, in halves f0 + x^(m/2) f1, as
 *
 *	f0 + w f1 modulo x^(m/2) - w	and	f0 - w f1 modulo x^(m/2) + w.
 *
 * These are nodes of a tree: node 0 is x^m - 1, and below node k there are 2k
 * and 2k + 1. All of a node is multiplied by one factor, roots[k]; whatever the
 * level, and however long the transform: a table for the longest one serves all.
 *
 * The butterflies are Harvey's: values are multiplied by Shoup's method, and are
 * not reduced until they must be (David Harvey, "Faster arithmetic for
 * number-theoretic transforms", Journal of Symbolic Computation 60, 2014). Here two
 * levels are one step, and there is so much room in 64 bits that the way forward
 * never reduces.
 *
 * A transform may be truncated: it has 5/4 or 3/2 of a power of 2 as its points
 * (van der Hoeven, "The truncated Fourier transform and applications", 2004, does
 * so for any number of points).
 */
#include "transform.h"

/* 3^((P - 1) / 2^20), of order 2^20; 3 is no square modulo P. */
#define ROOT 126359799829102084ULL
#define ROOT_ORDER_BITS 20

/* Points that are transformed in the cache, level by level. */
#define CACHE_POINTS 2048

/*
 * How deep forward() and inverse() call themselves: each call has a quarter of the
 * points, down to CACHE_POINTS. That is five frames on the kernel's stack.
 */
#define DEPTH_MAX 4

static_assert(TRANSFORM_POINTS_MAX >> 2 * DEPTH_MAX <= CACHE_POINTS,
	      "a transform recurses deeper than stated");

/**
 * truncated_shape() - the shortest transform with enough points
 * @points: how many are enough
 */
struct shape truncated_shape(size_t points)
{
	struct shape s = { .main = 4 };

	while (2 * s.main <= points)
		s.main *= 2;
	if (s.main >= points)
		return s;
	for (s.parts = 4; s.parts > 1; s.parts /= 2)
		if (truncated_points(s) >= points)
			return s;
	return (struct shape){ .main = 2 * s.main };
}

/*
 * Makes roots until there are @count, a power of 2. Of 2^j up to 2^(j + 1), the
 * first is a root of order 2^(j + 2); the others are those below, times it: so
 * roots[2k] is a square root of roots[k], and roots[2k + 1] that of -roots[k].
 */
static int make_roots(struct fib_call *call, struct ntt *ntt, size_t count)
{
	int err;

	while (ntt->made < count) {
		struct shoup_factor *next = ntt->roots + ntt->made;
		u64 root = ROOT;

		for (size_t order = 4 * ntt->made;
		     order < 1ULL << ROOT_ORDER_BITS; order *= 2)
			root = solinas_mul(root, root);
		next[0] = shoup_factor_of(subtract_prime(solinas_fold(root)));
		for (size_t i = 1; i < ntt->made; i++) {
			if (i % AT_ONCE == 0) {
				err = fib_account_work(call,
						       AT_ONCE * POINT_WORK);
				if (err)
					return err;
			}
			next[i] = shoup_factor_of(subtract_prime(
				shoup_mul(ntt->roots[i].w, next[0])));
		}
		ntt->made *= 2;
	}
	return 0;
}

/*
 * -1 / roots[node]. A root of node 2^j + i is that of i turned by so much; the
 * others of the level, read backwards, are their inverses but for the sign.
 */
static inline struct shoup_factor inverse_root(const struct ntt *ntt,
					       size_t node)
{
	if (!node)
		return ntt->minus_one;
	return ntt->roots[node ^ ((1ULL << (63 - __builtin_clzll(node))) - 1)];
}

/*
 * Two levels, from a node to those of its children's children, for @count of a
 * quarter's points: f[i] and, @quarter further each, three more.
 *
 * Of any size on the way in, values are less than 4 P larger on the way out.
 */
static void harvey_forward_radix4(u64 *f, size_t quarter, size_t count,
				  const struct shoup_factor *roots, size_t node)
{
	const struct shoup_factor w = roots[node];
	const struct shoup_factor w0 = roots[2 * node],
				  w1 = roots[2 * node + 1];
	u64 *f1 = f + quarter, *f2 = f1 + quarter, *f3 = f2 + quarter;

	for (size_t i = 0; i != count; i++) {
		u64 t2 = shoup_mul(f2[i], w), t3 = shoup_mul(f3[i], w);
		u64 a0 = f[i] + t2, a1 = f1[i] + t3;
		u64 a2 = f[i] - t2 + 2 * PRIME, a3 = f1[i] - t3 + 2 * PRIME;
		u64 t1 = shoup_mul(a1, w0);

		t3 = shoup_mul(a3, w1);
		f[i] = a0 + t1;
		f1[i] = a0 - t1 + 2 * PRIME;
		f2[i] = a2 + t3;
		f3[i] = a2 - t3 + 2 * PRIME;
	}
}

/* One level, to single points. */
static void harvey_forward_radix2(u64 *f, size_t nodes,
				  const struct shoup_factor *roots)
{
	for (size_t i = 0; i < nodes; i++) {
		u64 t = shoup_mul(f[2 * i + 1], roots[i]);

		f[2 * i + 1] = f[2 * i] - t + 2 * PRIME;
		f[2 * i] += t;
	}
}

/* A node of not too many points, level by level. */
static void forward_block(u64 *f, size_t points,
			  const struct shoup_factor *roots, size_t node)
{
	size_t nodes = 1, size;

	for (size = points; size >= 4; size /= 4) {
		for (size_t i = 0; i < nodes; i++)
			harvey_forward_radix4(f + i * size, size / 4, size / 4,
					      roots, node + i);
		node *= 4;
		nodes *= 4;
	}
	if (size == 2)
		harvey_forward_radix2(f, nodes, roots + node);
}

/*
 * A node of @points, a power of 2, with values less than 4 P: to its values, in
 * the order of the tree. There are 19 levels at most, each of which adds 2 P: 42 P
 * is less than 2^63.4.
 */
static int forward(struct fib_call *call, u64 *f, size_t points,
		   const struct ntt *ntt, size_t node)
{
	size_t quarter = points / 4;
	int err;

	if (points <= CACHE_POINTS) {
		err = fib_account_work(call, points * 5 * POINT_WORK);
		if (!err)
			forward_block(f, points, ntt->roots, node);
		return err;
	}
	for (size_t i = 0; i < quarter; i += AT_ONCE) {
		size_t count = min(quarter - i, AT_ONCE);

		err = fib_account_work(call, 4 * count * POINT_WORK);
		if (err)
			return err;
		harvey_forward_radix4(f + i, quarter, count, ntt->roots, node);
	}
	for (size_t i = 0; i < 4; i++) {
		err = forward(call, f + i * quarter, quarter, ntt,
			      4 * node + i);
		if (err)
			return err;
	}
	return 0;
}

/*
 * The way back, but for the factor 1 / 4: two levels, for @count of a quarter's
 * points. Values are less than 4 P, on the way in as on the way out.
 */
static void harvey_inverse_radix4(u64 *f, size_t quarter, size_t count,
				  const struct ntt *ntt, size_t node)
{
	const struct shoup_factor w = inverse_root(ntt, node);
	const struct shoup_factor w0 = inverse_root(ntt, 2 * node);
	const struct shoup_factor w1 = inverse_root(ntt, 2 * node + 1);
	u64 *f1 = f + quarter, *f2 = f1 + quarter, *f3 = f2 + quarter;

	for (size_t i = 0; i != count; i++) {
		u64 a0 = f[i] + f1[i], a2 = f2[i] + f3[i];
		u64 a1 = shoup_mul(f1[i] - f[i] + 4 * PRIME, w0);
		u64 a3 = shoup_mul(f3[i] - f2[i] + 4 * PRIME, w1);

		f[i] = solinas_fold(a0 + a2);
		f1[i] = a1 + a3;
		f2[i] = shoup_mul(a2 - a0 + 8 * PRIME, w);
		f3[i] = shoup_mul(a3 - a1 + 2 * PRIME, w);
	}
}

/* One level, from single points, at nodes from @node on. */
static void harvey_inverse_radix2(u64 *f, size_t nodes, const struct ntt *ntt,
				  size_t node)
{
	for (size_t i = 0; i < nodes; i++) {
		u64 a = f[2 * i], b = f[2 * i + 1];

		f[2 * i] = solinas_fold(a + b);
		f[2 * i + 1] = shoup_mul(b - a + 4 * PRIME,
					 inverse_root(ntt, node + i));
	}
}

/* A node of not too many points, level by level. */
static void inverse_block(u64 *f, size_t points, const struct ntt *ntt,
			  size_t node)
{
	size_t size = 4;

	if (__builtin_ctzll(points) % 2) {
		harvey_inverse_radix2(f, points / 2, ntt, node * (points / 2));
		size = 8;
	}
	for (; size <= points; size *= 4) {
		size_t nodes = points / size;

		for (size_t i = 0; i < nodes; i++)
			harvey_inverse_radix4(f + i * size, size / 4, size / 4,
					      ntt, node * nodes + i);
	}
}

/* From the values of a node back to the polynomial, times @points. */
static int inverse(struct fib_call *call, u64 *f, size_t points,
		   const struct ntt *ntt, size_t node)
{
	size_t quarter = points / 4;
	int err;

	if (points <= CACHE_POINTS) {
		err = fib_account_work(call, points * 5 * POINT_WORK);
		if (!err)
			inverse_block(f, points, ntt, node);
		return err;
	}
	for (size_t i = 0; i < 4; i++) {
		err = inverse(call, f + i * quarter, quarter, ntt,
			      4 * node + i);
		if (err)
			return err;
	}
	for (size_t i = 0; i < quarter; i += AT_ONCE) {
		size_t count = min(quarter - i, AT_ONCE);

		err = fib_account_work(call, 4 * count * POINT_WORK);
		if (err)
			return err;
		harvey_inverse_radix4(f + i, quarter, count, ntt, node);
	}
	return 0;
}

/*
 * With x^(main / parts) = w at the additional points, where w^parts = -1: what f,
 * in parts f0 + f1 x^(main / parts) + ..., leaves there is
 *
 *	f0 + w f1 + w^2 f2 ... - f[parts],
 *
 * and modulo x^main - 1 f[parts] is added to f0. Coefficients are less than P on
 * the way in.
 */
static int truncated_split(struct fib_call *call, u64 *f, struct shape s,
			   const struct ntt *ntt)
{
	const struct shoup_factor w = ntt->roots[s.parts / 2];
	size_t length = s.main / s.parts;
	int err;

	for (size_t i = 0; i < length; i++) {
		u64 last = f[s.main + i], sum = 0;

		if (i % AT_ONCE == 0) {
			err = fib_account_work(call,
					       AT_ONCE * s.parts * POINT_WORK);
			if (err)
				return err;
		}
		for (size_t j = s.parts; j-- > 1;)
			sum = shoup_mul(f[j * length + i] + sum, w);
		f[s.main + i] = f[i] + sum + PRIME - last;
		f[i] += last;
	}
	return 0;
}

/*
 * The way back, from values less than 4 P, both times main to all coefficients,
 * times 2 * main.
 */
static int truncated_join(struct fib_call *call, u64 *f, struct shape s,
			  const struct ntt *ntt)
{
	const struct shoup_factor w = ntt->roots[s.parts / 2];
	size_t length = s.main / s.parts;
	int err;

	for (size_t i = 0; i < length; i++) {
		u64 first = solinas_fold(f[i]), sum = 0, difference;

		if (i % AT_ONCE == 0) {
			err = fib_account_work(call,
					       AT_ONCE * s.parts * POINT_WORK);
			if (err)
				return err;
		}
		for (size_t j = s.parts; j-- > 1;) {
			u64 *fj = &f[j * length + i];

			sum = shoup_mul(*fj + sum, w);
			*fj *= 2;
		}
		/* f0 - f[parts] */
		difference =
			solinas_fold(f[s.main + i] * s.parts + 2 * PRIME - sum);
		f[i] = first + difference;
		f[s.main + i] = first - difference + 2 * PRIME;
	}
	return 0;
}

/**
 * transform_roots() - make the roots that a transform needs
 * @call: the call that pays for it
 * @ntt: where they are kept, for longer and shorter transforms
 * @s: the shape of the transform
 *
 * Return: 0 or -EINTR.
 */
int transform_roots(struct fib_call *call, struct ntt *ntt, struct shape s)
{
	/* The way back with additional points reads the last level whole. */
	return make_roots(call, ntt, s.parts ? s.main : s.main / 2);
}

/**
 * transform() - from coefficients to values
 * @call: the call that pays for it
 * @f: all coefficients, less than P; then the values, less than 42 P
 * @s: how many, and which
 * @ntt: with the roots for that shape
 *
 * Return: 0 or -EINTR.
 */
int transform(struct fib_call *call, u64 *f, struct shape s,
	      const struct ntt *ntt)
{
	int err;

	if (s.parts) {
		err = truncated_split(call, f, s, ntt);
		if (err)
			return err;
		err = forward(call, f + s.main, s.main / s.parts, ntt, s.parts);
		if (err)
			return err;
	}
	return forward(call, f, s.main, ntt, 0);
}

/**
 * transform_back() - from values to coefficients
 * @call: the call that pays for it
 * @f: the values, less than 4 P; then the coefficients, divided by transform_scale()
 * @s: how many, and which
 * @ntt: with the roots for that shape
 *
 * Return: 0 or -EINTR.
 */
int transform_back(struct fib_call *call, u64 *f, struct shape s,
		   const struct ntt *ntt)
{
	int err;

	err = inverse(call, f, s.main, ntt, 0);
	if (err || !s.parts)
		return err;
	err = inverse(call, f + s.main, s.main / s.parts, ntt, s.parts);
	if (err)
		return err;
	return truncated_join(call, f, s, ntt);
}

/**
 * transform_scale() - the factor that transform_back() leaves out
 * @s: the shape of the transform
 */
struct shoup_factor transform_scale(struct shape s)
{
	unsigned int bits = __builtin_ctzll(s.main);

	if (s.parts)
		bits++;
	return inverse_of_power(bits);
}
