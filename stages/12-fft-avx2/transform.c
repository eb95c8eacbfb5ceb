// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The transform splits polynomials in halves. Let f0 + x^(m/2) f1 be the
 * remainder of a polynomial modulo x^m - w^2. Then its remainders
 *
 *	f0 + w f1 modulo x^(m/2) - w	and	f0 - w f1 modulo x^(m/2) + w
 *
 * can be computed from the halves. These are the nodes of a tree: node 0 is
 * x^m - 1, and the children of node k are 2k and 2k + 1. All coefficients of a
 * node are multiplied by one factor, roots[k]. This factor does not depend on
 * the level or the length of the transform, so one table serves all transforms.
 *
 * The butterflies are Harvey's: values are multiplied by Shoup's method, and
 * are reduced as late as possible (David Harvey, "Faster arithmetic for
 * number-theoretic transforms", Journal of Symbolic Computation 60, 2014). Here
 * one step does two levels. 64 bits have so much headroom that the forward
 * transform never reduces.
 *
 * A transform may be truncated: it then has 5/4 or 3/2 of a power of 2 as its
 * number of points (van der Hoeven, "The truncated Fourier transform and
 * applications", 2004, allows any number of points).
 */
#include "transform.h"

/* 3^((P - 1) / 2^20), of order 2^20; 3 is no square modulo P. */
#define ROOT 126359799829102084ULL
#define ROOT_ORDER_BITS 20

/*
 * With this many points or fewer, all levels are done in the cache, one by one.
 */
#define CACHE_POINTS 2048

/*
 * Maximum recursion depth of forward() and inverse(): each call has a quarter
 * of the points, down to CACHE_POINTS. That is five frames on the kernel's
 * stack.
 */
#define DEPTH_MAX 4

static_assert(TRANSFORM_POINTS_MAX >> 2 * DEPTH_MAX <= CACHE_POINTS,
	      "a transform recurses deeper than stated");

/**
 * truncated_shape() - return the shortest transform with enough points
 * @points: the minimum number of points
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
 * Compute roots until there are @count, a power of 2. For indices from 2^j to
 * 2^(j + 1) - 1, the first root has order 2^(j + 2), and the others are the
 * roots at 1 to 2^j - 1 times the first. So roots[2k] is a square root of
 * roots[k], and roots[2k + 1] one of -roots[k].
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
 * Return -1 / roots[node]. The roots of a level in reverse order are the
 * inverses of these roots, with the opposite sign.
 */
static inline struct shoup_factor inverse_root(const struct ntt *ntt,
					       size_t node)
{
	if (!node)
		return ntt->minus_one;
	return ntt->roots[node ^ ((1ULL << (63 - __builtin_clzll(node))) - 1)];
}

/*
 * Do two levels, from a node to its grandchildren, for @count points of a
 * quarter: f[i], and three more at distances of @quarter.
 *
 * Input values may have any size; output values are larger by less than 4 P.
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

/* Do the last level, whose nodes are single points. */
static void harvey_forward_radix2(u64 *f, size_t nodes,
				  const struct shoup_factor *roots)
{
	for (size_t i = 0; i < nodes; i++) {
		u64 t = shoup_mul(f[2 * i + 1], roots[i]);

		f[2 * i + 1] = f[2 * i] - t + 2 * PRIME;
		f[2 * i] += t;
	}
}

/* Do all levels of a node with few points, one after another. */
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
 * Transform a node of @points coefficients, a power of 2, each less than 4 P,
 * to its values, in the order of the tree. There are at most 19 levels, and
 * each adds 2 P: 42 P is less than 2^63.4.
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
 * The inverse of two levels, without the factor 1 / 4, for @count points of a
 * quarter. Input and output values are less than 4 P.
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

/* The inverse of the last level, whose nodes are points, from @node on. */
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

/* Do all levels of a node with few points, one after another. */
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

/* Transform the values of a node back to coefficients, times @points. */
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
 * Compute the remainders for the additional points. There x^(main / parts) = w,
 * where w^parts = -1, so the remainder of f = f0 + f1 x^(main / parts) + ... is
 *
 *	f0 + w f1 + w^2 f2 ... - f[parts].
 *
 * Modulo x^main - 1, f[parts] is added to f0. Input coefficients must be less
 * than P.
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
 * Do the inverse: from both remainders, which are less than 4 P and multiplied
 * by main, compute all coefficients times 2 * main.
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
 * transform_roots() - compute the roots that a transform needs
 * @call: the call that does the work
 * @ntt: stores the roots, also for other transforms
 * @s: the shape of the transform
 *
 * Return: 0 or -EINTR.
 */
int transform_roots(struct fib_call *call, struct ntt *ntt, struct shape s)
{
	/*
	 * The inverse with additional points reads all roots of the last level.
	 */
	return make_roots(call, ntt, s.parts ? s.main : s.main / 2);
}

/**
 * transform() - transform coefficients to values
 * @call: the call that does the work
 * @f: in: all coefficients, less than P; out: the values, less than 42 P
 * @s: the shape of the transform
 * @ntt: has the roots for this shape
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
 * transform_back() - transform values to coefficients
 * @call: the call that does the work
 * @f: in: the values, less than 4 P; out: the coefficients, divided by
 *	transform_scale()
 * @s: the shape of the transform
 * @ntt: has the roots for this shape
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
 * transform_scale() - return the factor by which transform_back()'s output must
 * be multiplied
 */
struct shoup_factor transform_scale(struct shape s)
{
	unsigned int bits = __builtin_ctzll(s.main);

	if (s.parts)
		bits++;
	return inverse_of_power(bits);
}
