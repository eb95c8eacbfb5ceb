// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Products by a number-theoretic transform. A number is taken for a polynomial
 * with six decimal digits a coefficient. Its values at enough points determine
 * it, the values of a product are the products of the values, and the points are
 * roots of unity modulo a prime P: so they can be had, and led back, in
 * n log n steps.
 *
 * In a product of N coefficients each is a sum of at most N / 2 products, of less
 * than 10^12 each. With N <= 2^19 that is less than 2.63 * 10^17, and P is more
 * than 2.88 * 10^17: nothing is lost by computing modulo P.
 *
 * The transform halves polynomials. What a polynomial f of degree < m leaves
 * modulo x^m - w^2, it leaves, in halves f0 + x^(m/2) f1, as
 *
 *	f0 + w f1 modulo x^(m/2) - w	and	f0 - w f1 modulo x^(m/2) + w.
 *
 * These are nodes of a tree: node 0 is x^m - 1, and below node k there are 2k
 * and 2k + 1. All of a node is multiplied by one factor, roots[k]; whatever the
 * level, and however long the transform: a table for the longest one serves all.
 */
#include "column.h"
#include "ntt.h"

/* P = 2^58 - E; P - 1 is a multiple of 2^25. */
#define P_BITS 58
#define E 100663295ULL
#define P ((1ULL << P_BITS) - E)
/* 3^((P - 1) / 2^20), of order 2^20; 3 is no square modulo P. */
#define ROOT 126359799829102084ULL
#define ROOT_ORDER_BITS 20

#define POINTS_MAX ((size_t)1 << 19)
#define POINT_BASE 1000000
#define LIMB_POINTS 3

/* Points that are transformed in the cache, level by level. */
#define CACHE_POINTS 2048
/* Points between two looks at the work done, and what is done at each of them. */
#define AT_ONCE ((size_t)4096)
#define POINT_WORK 4

/**
 * struct factor - a constant to multiply by, less than P
 * @w: the factor
 * @quotient: w * 2^64 / P, rounded down
 */
struct factor {
	u64 w;
	u64 quotient;
};

/**
 * struct ntt - what transforms of one call share
 * @f: room for the points of a factor, and then of the product
 * @g: the same for the other factor
 * @minus_one: -1
 * @made: how many roots there are so far
 * @roots: the factor of each node
 */
struct ntt {
	u64 *f;
	u64 *g;
	struct factor minus_one;
	size_t made;
	struct factor roots[];
};

/**
 * struct shape - how many points, and of which polynomials
 * @main: points of x^main - 1; a power of 2
 * @parts: 0, or main / parts more points, of node @parts, 2 or 4
 */
struct shape {
	size_t main;
	size_t parts;
};

static size_t shape_points(struct shape s)
{
	return s.main + (s.parts ? s.main / s.parts : 0);
}

/* The fewest points that are enough. */
static struct shape shape_for(size_t points)
{
	struct shape s = { .main = 4 };

	while (2 * s.main <= points)
		s.main *= 2;
	if (s.main >= points)
		return s;
	for (s.parts = 4; s.parts > 1; s.parts /= 2)
		if (shape_points(s) >= points)
			return s;
	return (struct shape){ .main = 2 * s.main };
}

/* The same modulo P; from any x to less than 2^58 + 64 * E < 2 P. */
static inline u64 fold(u64 x)
{
	return x - (x >> P_BITS) * P;
}

/* The same less P, if it is not less than P; from x < 2 P to x < P. */
static inline u64 reduce(u64 x)
{
	return x - (-(u64)(x >= P) & P);
}

/*
 * x * factor modulo P, less than 2 P, for any x. The quotient is at most that of
 * x * w / P, and falls short by less than 1 for its own rounding, as x < 2^64,
 * and by less than 1 for that of factor.quotient.
 */
static inline u64 times(u64 x, struct factor factor)
{
	u64 quotient = (column_t)x * factor.quotient >> 64;

	return x * factor.w - quotient * P;
}

/*
 * x * y modulo P, less than 3 P, for any x and y. As 2^58 is E modulo P, what is
 * above 58 bits comes back multiplied by E: first 59 bits, then 27, and then
 * less than 2^54.
 */
static inline u64 multiply(u64 x, u64 y)
{
	const u64 low = (1ULL << P_BITS) - 1;
	column_t product = (column_t)fold(x) * fold(y);
	column_t middle = (product >> P_BITS) * E;

	return ((u64)product & low) + ((u64)middle & low) +
	       (u64)(middle >> P_BITS) * E;
}

/*
 * A factor from w < P. As 1 / P = (1 + E / 2^58 + (E / 2^58)^2 ...) / 2^58, its
 * quotient is 64 * w + w * E / 2^52, and less than 4 more. What is missing shows
 * in the remainder, which is less than 5 P, and w * 2^64 is 0 modulo 2^64.
 */
static struct factor factor_of(u64 w)
{
	struct factor factor = { .w = w };
	u64 remainder;

	factor.quotient = 64 * w + (u64)((column_t)w * E >> (P_BITS - 6));
	remainder = -(factor.quotient * P);
	factor.quotient += remainder >> P_BITS;
	factor.quotient += fold(remainder) >= P;
	return factor;
}

/* 1 / 2^bits modulo P: 2^bits * (P - 1) / 2^bits is -1. */
static struct factor one_over(unsigned int bits)
{
	return factor_of(P - ((P - 1) >> bits));
}

/**
 * ntt_room() - bytes enough for ntt_create
 * @size: limbs of the longest product
 */
size_t ntt_room(size_t size)
{
	struct shape s = shape_for(size * LIMB_POINTS);

	return sizeof(struct ntt) + s.main * sizeof(struct factor) +
	       2 * shape_points(s) * sizeof(u64);
}

/**
 * ntt_create() - what products of one call share
 * @room: as much as ntt_room says
 * @size: limbs of the longest product
 */
struct ntt *ntt_create(void *room, size_t size)
{
	struct shape s = shape_for(size * LIMB_POINTS);
	struct ntt *ntt = room;

	ntt->f = (u64 *)(ntt->roots + s.main);
	ntt->g = ntt->f + shape_points(s);
	ntt->minus_one = factor_of(P - 1);
	ntt->roots[0] = factor_of(1);
	ntt->made = 1;
	return ntt;
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
		struct factor *next = ntt->roots + ntt->made;
		u64 root = ROOT;

		for (size_t order = 4 * ntt->made;
		     order < 1ULL << ROOT_ORDER_BITS; order *= 2)
			root = multiply(root, root);
		next[0] = factor_of(reduce(fold(root)));
		for (size_t i = 1; i < ntt->made; i++) {
			if (i % AT_ONCE == 0) {
				err = fib_spend(call, AT_ONCE * POINT_WORK);
				if (err)
					return err;
			}
			next[i] = factor_of(
				reduce(times(ntt->roots[i].w, next[0])));
		}
		ntt->made *= 2;
	}
	return 0;
}

/*
 * -1 / roots[node]. A root of node 2^j + i is that of i turned by so much; the
 * others of the level, read backwards, are their inverses but for the sign.
 */
static inline struct factor inverse_root(const struct ntt *ntt, size_t node)
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
static void forward_quarters(u64 *f, size_t quarter, size_t count,
			     const struct factor *roots, size_t node)
{
	const struct factor w = roots[node];
	const struct factor w0 = roots[2 * node], w1 = roots[2 * node + 1];
	u64 *f1 = f + quarter, *f2 = f1 + quarter, *f3 = f2 + quarter;

	for (size_t i = 0; i != count; i++) {
		u64 t2 = times(f2[i], w), t3 = times(f3[i], w);
		u64 a0 = f[i] + t2, a1 = f1[i] + t3;
		u64 a2 = f[i] - t2 + 2 * P, a3 = f1[i] - t3 + 2 * P;
		u64 t1 = times(a1, w0);

		t3 = times(a3, w1);
		f[i] = a0 + t1;
		f1[i] = a0 - t1 + 2 * P;
		f2[i] = a2 + t3;
		f3[i] = a2 - t3 + 2 * P;
	}
}

/* One level, to single points. */
static void forward_pairs(u64 *f, size_t nodes, const struct factor *roots)
{
	for (size_t i = 0; i < nodes; i++) {
		u64 t = times(f[2 * i + 1], roots[i]);

		f[2 * i + 1] = f[2 * i] - t + 2 * P;
		f[2 * i] += t;
	}
}

/* A node of not too many points, level by level. */
static void forward_block(u64 *f, size_t points, const struct factor *roots,
			  size_t node)
{
	size_t nodes = 1, size;

	for (size = points; size >= 4; size /= 4) {
		for (size_t i = 0; i < nodes; i++)
			forward_quarters(f + i * size, size / 4, size / 4,
					 roots, node + i);
		node *= 4;
		nodes *= 4;
	}
	if (size == 2)
		forward_pairs(f, nodes, roots + node);
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
		err = fib_spend(call, points * 5 * POINT_WORK);
		if (!err)
			forward_block(f, points, ntt->roots, node);
		return err;
	}
	for (size_t i = 0; i < quarter; i += AT_ONCE) {
		size_t count = min(quarter - i, AT_ONCE);

		err = fib_spend(call, 4 * count * POINT_WORK);
		if (err)
			return err;
		forward_quarters(f + i, quarter, count, ntt->roots, node);
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
static void inverse_quarters(u64 *f, size_t quarter, size_t count,
			     const struct ntt *ntt, size_t node)
{
	const struct factor w = inverse_root(ntt, node);
	const struct factor w0 = inverse_root(ntt, 2 * node);
	const struct factor w1 = inverse_root(ntt, 2 * node + 1);
	u64 *f1 = f + quarter, *f2 = f1 + quarter, *f3 = f2 + quarter;

	for (size_t i = 0; i != count; i++) {
		u64 a0 = f[i] + f1[i], a2 = f2[i] + f3[i];
		u64 a1 = times(f1[i] - f[i] + 4 * P, w0);
		u64 a3 = times(f3[i] - f2[i] + 4 * P, w1);

		f[i] = fold(a0 + a2);
		f1[i] = a1 + a3;
		f2[i] = times(a2 - a0 + 8 * P, w);
		f3[i] = times(a3 - a1 + 2 * P, w);
	}
}

/* One level, from single points, at nodes from @node on. */
static void inverse_pairs(u64 *f, size_t nodes, const struct ntt *ntt,
			  size_t node)
{
	for (size_t i = 0; i < nodes; i++) {
		u64 a = f[2 * i], b = f[2 * i + 1];

		f[2 * i] = fold(a + b);
		f[2 * i + 1] =
			times(b - a + 4 * P, inverse_root(ntt, node + i));
	}
}

/* A node of not too many points, level by level. */
static void inverse_block(u64 *f, size_t points, const struct ntt *ntt,
			  size_t node)
{
	size_t size = 4;

	if (__builtin_ctzll(points) % 2) {
		inverse_pairs(f, points / 2, ntt, node * (points / 2));
		size = 8;
	}
	for (; size <= points; size *= 4) {
		size_t nodes = points / size;

		for (size_t i = 0; i < nodes; i++)
			inverse_quarters(f + i * size, size / 4, size / 4, ntt,
					 node * nodes + i);
	}
}

/* From the values of a node back to the polynomial, times @points. */
static int inverse(struct fib_call *call, u64 *f, size_t points,
		   const struct ntt *ntt, size_t node)
{
	size_t quarter = points / 4;
	int err;

	if (points <= CACHE_POINTS) {
		err = fib_spend(call, points * 5 * POINT_WORK);
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

		err = fib_spend(call, 4 * count * POINT_WORK);
		if (err)
			return err;
		inverse_quarters(f + i, quarter, count, ntt, node);
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
static int split_parts(struct fib_call *call, u64 *f, struct shape s,
		       const struct ntt *ntt)
{
	const struct factor w = ntt->roots[s.parts / 2];
	size_t length = s.main / s.parts;
	int err;

	for (size_t i = 0; i < length; i++) {
		u64 last = f[s.main + i], sum = 0;

		if (i % AT_ONCE == 0) {
			err = fib_spend(call, AT_ONCE * s.parts * POINT_WORK);
			if (err)
				return err;
		}
		for (size_t j = s.parts; j-- > 1;)
			sum = times(f[j * length + i] + sum, w);
		f[s.main + i] = f[i] + sum + P - last;
		f[i] += last;
	}
	return 0;
}

/*
 * The way back, from values less than 4 P, both times main to all coefficients,
 * times 2 * main.
 */
static int join_parts(struct fib_call *call, u64 *f, struct shape s,
		      const struct ntt *ntt)
{
	const struct factor w = ntt->roots[s.parts / 2];
	size_t length = s.main / s.parts;
	int err;

	for (size_t i = 0; i < length; i++) {
		u64 first = fold(f[i]), sum = 0, difference;

		if (i % AT_ONCE == 0) {
			err = fib_spend(call, AT_ONCE * s.parts * POINT_WORK);
			if (err)
				return err;
		}
		for (size_t j = s.parts; j-- > 1;) {
			u64 *fj = &f[j * length + i];

			sum = times(*fj + sum, w);
			*fj *= 2;
		}
		/* f0 - f[parts] */
		difference = fold(f[s.main + i] * s.parts + 2 * P - sum);
		f[i] = first + difference;
		f[s.main + i] = first - difference + 2 * P;
	}
	return 0;
}

/* f[] = the coefficients of a number, six digits each, and zeros up to @points */
static int points_of(struct fib_call *call, u64 *f, size_t points,
		     const limb_t *a, size_t a_size)
{
	int err;

	for (size_t i = 0; i < a_size; i++) {
		limb_t above = a[i] / POINT_BASE;

		if (i % AT_ONCE == 0) {
			err = fib_spend(call, AT_ONCE * POINT_WORK);
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
		    struct factor scale)
{
	struct carry carry = {};
	int err;

	for (size_t i = 0; i < size; i++, f += LIMB_POINTS) {
		column_t column = (column_t)reduce(times(f[2], scale)) *
				  ((u64)POINT_BASE * POINT_BASE);

		if (i % AT_ONCE == 0) {
			err = fib_spend(call, AT_ONCE * POINT_WORK);
			if (err)
				return err;
		}
		column += (column_t)reduce(times(f[1], scale)) * POINT_BASE;
		column += reduce(times(f[0], scale));
		c[i] = column_limb(&carry, carry.large + column);
	}
	fib_assert(!carry.large && !carry.small);
	return 0;
}

/* f[] = the values of a number at all points */
static int transform(struct fib_call *call, u64 *f, struct shape s,
		     const limb_t *a, size_t size, const struct ntt *ntt)
{
	int err = points_of(call, f, shape_points(s), a, size);

	if (!err && s.parts)
		err = split_parts(call, f, s, ntt) ?:
			      forward(call, f + s.main, s.main / s.parts, ntt,
				      s.parts);
	return err ?: forward(call, f, s.main, ntt, 0);
}

/* c[] = the number with values f[] */
static int transform_back(struct fib_call *call, limb_t *c, size_t size, u64 *f,
			  struct shape s, const struct ntt *ntt)
{
	unsigned int bits = __builtin_ctzll(s.main);
	int err = inverse(call, f, s.main, ntt, 0);

	if (!err && s.parts) {
		err = inverse(call, f + s.main, s.main / s.parts, ntt, s.parts) ?:
			      join_parts(call, f, s, ntt);
		bits++;
	}
	if (err)
		return err;
	return limbs_of(call, c, size, f, one_over(bits));
}

/**
 * ntt_mul() - c[] = a[] * b[]
 * @call: the call that pays for it
 * @c: the product, a_size + b_size limbs
 * @a: a factor
 * @a_size: its limbs
 * @b: a factor; a square is faster if it is @a
 * @b_size: its limbs
 * @ntt: as ntt_create has made it, for no fewer limbs
 *
 * Return: 0 or -EINTR.
 */
int ntt_mul(struct fib_call *call, limb_t *c, const limb_t *a, size_t a_size,
	    const limb_t *b, size_t b_size, struct ntt *ntt)
{
	struct shape s = shape_for(LIMB_POINTS * (a_size + b_size));
	size_t points = shape_points(s);
	u64 *f = ntt->f, *g = f;
	int err;

	fib_assert(points <= POINTS_MAX);
	/* A transform back with additional points reads the last level whole. */
	err = make_roots(call, ntt, s.parts ? s.main : s.main / 2) ?:
		      transform(call, f, s, a, a_size, ntt);
	if (err)
		return err;
	if (a != b) {
		g = ntt->g;
		err = transform(call, g, s, b, b_size, ntt);
		if (err)
			return err;
	}
	for (size_t i = 0; i < points; i++) {
		if (i % AT_ONCE == 0) {
			err = fib_spend(call, AT_ONCE * POINT_WORK);
			if (err)
				return err;
		}
		f[i] = multiply(f[i], g[i]);
	}
	return transform_back(call, c, a_size + b_size, f, s, ntt);
}
