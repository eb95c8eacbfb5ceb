// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Products of long numbers by a fast Fourier transform in doubles.
 *
 * A number is a polynomial whose coefficients are its digits. For a product of
 * up to 2N digits it is enough to know the product modulo x^(2N) + 1. With
 * complex coefficients this is equivalent to x^N - i, where the upper half of
 * the coefficients is the imaginary part of the lower half: the right-angle
 * convolution (Crandall and Pomerance, Prime Numbers, 9.5.3).
 *
 * The transform splits polynomials, as that of stage 11 does. In quarters, let
 * f0 + f1 x^m + f2 x^2m + f3 x^3m be the remainder of a polynomial modulo
 * x^(4m) - w^4. Then its remainders
 *
 *	f0 + (i^j w) f1 + (i^j w)^2 f2 + (i^j w)^3 f3 modulo x^m - i^j w
 *
 * for j = 0 to 3 are the children of this node in a tree. All coefficients of a
 * node use the same roots, so one vector of roots serves many coefficients, and
 * nothing is ever reordered. At the top there are also splits into 3, 5 or 7
 * and into 2 parts, depending on the length: lengths are 4, 5, 6 and 7 times a
 * power of 2.
 *
 * The top passes split a polynomial into rows. The nodes of all rows have the
 * same arguments, except for an angle that depends on the row. Node k of a
 * level has w = exp(2 pi i * reversed(k) / 4) times the root of row and level,
 * where reversed(k) has the bits of k in reverse order after the binary point.
 * So one table serves all rows, levels and lengths.
 *
 * Error analysis
 *
 * A double has 53 bits; let u = 2^-53. The error of an addition of complex
 * numbers is at most u times the sum. The error of a product is at most sqrt(5)
 * u = 2.24 u times the product (Brent, Percival and Zimmermann, Error bounds on
 * complex floating-point multiplication, Math. Comp. 76, 2007), with or without
 * fused multiply-add. Their argument for a transform, layer by layer, is used
 * here for radix 4:
 *
 * A layer of the forward transform multiplies the Euclidean norm by 2 (radix p:
 * by sqrt(p)). If the error of each layer is h u times the norm of its result,
 * then the error of k layers is (h1 + ... + hk) u times the norm, except for
 * terms in u^2. If the errors of the parts of x and y in the last nodes are dx
 * u and dy u, then the error of a coefficient of x y is (dx + dy) u |x| |y|:
 * the coefficient is a mean of the coefficients of the products of the parts.
 * These are at most the products of the norms, whose sum is at most the product
 * of the sums. In the inverse transform, the error of a result of a layer is h
 * u times the sum of the layer's inputs, and the mean of all these sums is at
 * most |x| |y|, too. So the error of a coefficient is at most
 *
 *	(2 d + s + r) u |x| |y|
 *
 * where d is the sum of h for the layers of the forward transform, r is this
 * sum for the inverse transform, and s is the error of the products and of the
 * division by N / 4 at the end: 17.96 and 2.
 *
 * Constants are computed as integers in units of 2^-62. The error of a sine or
 * a cosine is less than 5 units, and its conversion to double adds sqrt(1/2) u:
 * 0.72 u. An entry of the table is a product of up to 10 such constants: 0.85
 * u. Then, in units of u,
 *
 *	w	0.72 + 0.85 + 2.24 = 3.81	of row and table
 *	w^2	2 * 3.81 + 2.24 = 9.86
 *	w^3	3.81 + 9.86 + 2.24 = 15.91
 *
 *	radix 4, in a row	h = 15.91 + 2.24 + 2 additions < 20.2
 *	radix 4, at the top	h =  0.72 + 2.24 + 2 additions < 5
 *	radix 2, at the top	h =  0.72 + 2.24 + 1 addition < 4
 *
 * In radix p = 3, 5, 7 each part takes an addition (error 1); a product with a
 * cosine and a product with a sine, whose error is 0.51 before rounding and 1
 * by rounding; up to (p - 1) / 2 additions; and a last addition. Sine and
 * cosine together are at most sqrt(2). The error is sqrt(2)
 * (3.51 + (p - 1) / 2) times the sum of the parts, and sqrt(p) times as much of
 * the norm: 11.1, 17.5, 24.4. So h is less than 12, 18 and 25.
 *
 * The leaves of the tree are polynomials of four coefficients, which are
 * multiplied modulo x^4 - c, where c is w, or w rotated by right angles. The
 * error of a sum of k real products, computed one after another, is k u times
 * the sum of their absolute values. The real part of a sum of products a[i]
 * b[j] has two real products for each of them, whose absolute values together
 * are at most |a[i]| |b[j]|; the same holds for the imaginary part. A
 * coefficient is such a sum plus c times another such sum. With two real
 * products for the multiplication by c, at most 10 real products are added one
 * after another. So the error of a coefficient is 10 sqrt(2) plus the error of
 * c, 3.81, which is less than 17.96, times the sum of all |a[i]| |b[j]|, which
 * is at most the product of the norms.
 *
 * Digits are at most DIGIT_MAX, so |x| |y| <= N * DIGIT_MAX^2. Therefore the
 * condition that error_fits checks for each transform proves that rounding to
 * the nearest integer gives the exact product. For the longest transform,
 * N = 5 * 2^16, the bound is 0.42.
 */
#include "fft_avx2.h"
#include "vector.h"

/* The number 1 in the unit of constants, 2^-62. */
#define ONE_BITS 62
#define ONE (1LL << ONE_BITS)
/* pi / 4 * 2^64 */
#define QUARTER_PI 14488038916154245685ULL

/* Blocks that a top pass processes at once, in all rows: 16 KB. */
#define BLOCKS_AT_ONCE 256
/*
 * Constant blocks converted to doubles at once; work to compute a
 * constant.
 */
#define CONSTANTS_AT_ONCE 1024
#define CONSTANT_WORK 4
#define ROOT_WORK 40

/* Return x * y, rounded down, for numbers with 62 fraction bits. */
static inline u64 times(u64 x, u64 y)
{
	return (unsigned __int128)x * y >> ONE_BITS;
}

/*
 * Return exp(2 pi i * angle / 2^64), by the Taylor series of sine and cosine
 * around the nearest multiple of a right angle. The arc is at most pi / 4, so
 * the terms from x^20 on are less than 2^-68. If the arc is less than 2^-6, the
 * terms from x^10 on are.
 */
static struct fft_root root_of(u64 angle)
{
	unsigned int right_angles = (angle + (1ULL << 61)) >> 62;
	s64 rest = angle - ((u64)right_angles << 62);
	u64 arc =
		(unsigned __int128)(rest < 0 ? -rest : rest) * QUARTER_PI >> 63;
	u64 square = times(arc, arc), cosine = ONE, sine = ONE;
	struct fft_root root, turned;

	if (arc >> 56) {
		/*
		 * Unrolled, so that the divisors are constants and no division
		 * is needed.
		 */
#pragma GCC unroll 9
		for (u64 k = 9; k > 0; k--) {
			cosine = ONE -
				 times(square, cosine) / ((2 * k - 1) * 2 * k);
			sine = ONE -
			       times(square, sine) / (2 * k * (2 * k + 1));
		}
	} else {
#pragma GCC unroll 5
		for (u64 k = 4; k > 0; k--) {
			cosine = ONE -
				 times(square, cosine) / ((2 * k - 1) * 2 * k);
			sine = ONE -
			       times(square, sine) / (2 * k * (2 * k + 1));
		}
	}
	sine = times(arc, sine);
	root.re = cosine;
	root.im = rest < 0 ? -sine : sine;
	for (; right_angles % 4; right_angles--) {
		turned.re = -root.im;
		turned.im = root.re;
		root = turned;
	}
	return root;
}

/* Return part / whole of a full turn, where part < whole, rounded down. */
static u64 angle_of(u64 part, u64 whole)
{
	u64 high = (part << 32) / whole, rest = (part << 32) % whole;

	return (high << 32) + (rest << 32) / whole;
}

/* Return the error bound, in hundredths of u |x| |y|: see above. */
static u64 error_units(const struct fft_shape *s)
{
	u64 down = 0, up = 1796 + 200;

	if (s->odd > 1)
		down += s->odd == 3 ? 1200 : s->odd == 5 ? 1800 : 2500;
	if (s->two)
		down += 400;
	down += s->fours * 500;
	for (size_t points = s->row; points > 4; points /= 4)
		down += 2020;
	up += down;
	return 2 * down + up;
}

/*
 * Return true if the error is less than 1 / 2, minus a hundredth for the terms
 * in u^2.
 */
static bool error_fits(const struct fft_shape *s)
{
	const u64 half = 1ULL << 52;

	return s->points * DIGIT_MAX * DIGIT_MAX < half / error_units(s) * 99;
}

/*
 * Return the shortest length that is enough for a product of @digits digits,
 * and its split. A length is 4, 5, 6 or 7 times a power of 2.
 */
static struct fft_shape shape_for(size_t digits)
{
	size_t points = (digits + 1) / 2, power = FFT_ROW_MIN, part = 4;
	struct fft_shape s;

	while (7 * power < points)
		power *= 2;
	while (part * power < points)
		part++;
	s.points = part * power;
	/* A row is a power of 4. */
	s.row = min_t(size_t, power, FFT_ROW_MAX);
	if (__builtin_ctzll(s.row) % 2)
		s.row /= 2;
	s.rows = s.points / s.row;
	s.columns = BLOCKS_AT_ONCE / s.rows & -4UL;
	/*
	 * The gap keeps blocks that are used together out of the same cache
	 * sets.
	 */
	s.stride = s.row / FFT_BLOCK_POINTS + s.columns;
	s.odd = part == 4 ? 1 : part == 6 ? 3 : part;
	part = s.rows / s.odd;
	s.two = __builtin_ctzll(part) % 2;
	s.fours = __builtin_ctzll(part) / 2;
	return s;
}

/* Return the blocks of the table: a root for each node of 16 points. */
static size_t table_blocks(const struct fft_shape *s)
{
	return s->row / 16 / FFT_BLOCK_POINTS;
}

/* Return the blocks of all points, with the gaps between rows. */
static size_t all_blocks(const struct fft_shape *s)
{
	return s->rows * s->stride;
}

/**
 * fft_digits() - return the length of a factor's array, including zeros at the
 * end
 * @digits: digits of the longest product, at least twice as many as of a factor
 */
size_t fft_digits(size_t digits)
{
	return shape_for(digits).points;
}

/**
 * fft_room() - return the size of the work space for fft_create in bytes
 * @digits: digits of the longest product
 */
size_t fft_room(size_t digits)
{
	struct fft_shape s = shape_for(digits);

	return sizeof(struct fft) + (table_blocks(&s) + 2 * all_blocks(&s) +
				     1) * sizeof(struct fft_block);
}

/* Convert @count integers to doubles. */
static void make_doubles(s64 *value, size_t count)
{
	fib_fpu_begin();
	fft_avx2_constants(value, count);
	fib_fpu_end();
}

/*
 * Make the table, first as integers and then as doubles. Entry 2^j + k is entry
 * k, rotated by 2^-(j + 1) of a right angle. All entries are in the first
 * quadrant.
 */
static int make_table(struct fib_call *call, struct fft *fft)
{
	size_t count = table_blocks(&fft->shape) * FFT_BLOCK_POINTS;
	struct fft_block *table = fft->table;
	u64 angle = 1ULL << 61;
	int err;

	table->re[0] = ONE;
	table->im[0] = 0;
	for (size_t made = 1; made < count; made *= 2, angle /= 2) {
		const struct fft_root w = root_of(angle);

		for (size_t i = 0; i < made; i++) {
			const struct fft_block *from = &table[i / 4];
			struct fft_block *to = &table[(made + i) / 4];
			u64 re = from->re[i % 4], im = from->im[i % 4];
			size_t j = (made + i) % 4;

			to->re[j] = times(re, w.re) - times(im, w.im);
			to->im[j] = times(re, w.im) + times(im, w.re);
		}
		err = fib_account_work(call, made * CONSTANT_WORK);
		if (err)
			return err;
	}
	for (size_t i = 0; i < count / 4; i += CONSTANTS_AT_ONCE) {
		size_t end = min(count / 4, i + CONSTANTS_AT_ONCE);

		err = fib_account_work(call, 4 * (end - i));
		if (err)
			return err;
		make_doubles(table[i].re,
			     (end - i) * sizeof(*table) / sizeof(s64));
	}
	return 0;
}

/**
 * fft_create() - set up the transforms of one call
 * @call: the call that does the work
 * @room: work space of fft_room() bytes
 * @digits: digits of the longest product
 *
 * Return: the transforms, or ERR_PTR(-EINTR) if the caller has been killed.
 */
struct fft *fft_create(struct fib_call *call, void *room, size_t digits)
{
	struct fft *fft = room;
	u64 end = (u64)(unsigned long)(fft + 1);
	int err;

	fft->shape = shape_for(digits);
	fib_assert(error_fits(&fft->shape));
	fft->table = (struct fft_block *)((char *)(fft + 1) +
					  (-end & (sizeof(*fft->table) - 1)));
	fft->f = fft->table + table_blocks(&fft->shape);
	fft->g = fft->f + all_blocks(&fft->shape);
	err = make_table(call, fft);
	fft->shape.points = 0; /* no roots yet */
	return err ? ERR_PTR(err) : fft;
}

/*
 * Compute the roots of the top passes, and the resulting angles in fft->angle.
 */
static void make_top(struct fft *fft)
{
	struct fft_root *root = fft->top;
	unsigned int p = fft->shape.odd;
	size_t nodes = p;
	u64 next[FFT_ROWS] = {};

	/*
	 * i^p is a p-th root of i; the other roots are rotated by j / p of a
	 * turn.
	 */
	for (unsigned int j = 0; j < p; j++) {
		u64 turned = p > 1 ? angle_of(j, p) : 0;

		fft->angle[j] = ((u64)p << 62) + turned;
		fft->wheel[j] = root_of(turned);
	}
	if (fft->shape.two) {
		for (size_t i = 0; i != nodes; i++) {
			u64 half = fft->angle[i] / 2;

			*root++ = root_of(half);
			next[2 * i] = half;
			next[2 * i + 1] = half + (1ULL << 63);
		}
		nodes *= 2;
		memcpy(fft->angle, next, nodes * sizeof(*next));
	}
	while (nodes < fft->shape.rows) {
		for (size_t i = 0; i != nodes; i++) {
			u64 quarter = fft->angle[i] / 4;

			for (unsigned int j = 1; j <= 3; j++)
				*root++ = root_of(j * quarter);
			next[4 * i] = quarter;
			next[4 * i + 1] = quarter + (2ULL << 62);
			next[4 * i + 2] = quarter + (1ULL << 62);
			next[4 * i + 3] = quarter + (3ULL << 62);
		}
		nodes *= 4;
		memcpy(fft->angle, next, nodes * sizeof(*next));
	}
	make_doubles(&fft->wheel[0].re, 2 * p);
	make_doubles(&fft->top[0].re, 2 * (root - fft->top));
}

/*
 * Compute all that depends on the length, unless the length is the same as
 * before.
 */
static int prepare(struct fib_call *call, struct fft *fft, size_t digits)
{
	size_t before = fft->shape.points;
	int err;

	fft->shape = shape_for(digits);
	if (fft->shape.points == before)
		return 0;
	fib_assert(error_fits(&fft->shape));
	err = fib_account_work(call, fft->shape.rows * FFT_LEVELS * ROOT_WORK);
	if (err)
		return err;
	make_top(fft);
	for (size_t i = 0; i < fft->shape.rows; i++) {
		struct fft_root *root = fft->row_root[i];
		u64 angle = fft->angle[i];

		for (size_t points = fft->shape.row; points > 4; points /= 4) {
			angle /= 4;
			*root++ = root_of(angle);
		}
		make_doubles(&fft->row_root[i][0].re,
			     2 * (root - fft->row_root[i]));
	}
	return 0;
}

/* Return the number of a row's blocks that fit into a section of a top pass. */
static size_t columns_at_once(const struct fft *fft)
{
	return FFT_SECTION / FFT_BLOCK_POINTS / fft->shape.rows & -4UL;
}

/* f[] = the rows of a number: its digits after the top passes */
static int top(struct fib_call *call, const struct fft *fft,
	       struct fft_block *f, const struct digits *a)
{
	size_t blocks = fft->shape.row / FFT_BLOCK_POINTS;
	int err;

	if (a->size < fft->shape.points)
		memset(a->digit + a->size, 0,
		       (fft->shape.points - a->size) * sizeof(s16));
	for (size_t i = 0, end; i < blocks; i = end) {
		end = min(blocks, i + columns_at_once(fft));
		err = fib_account_work(call, FFT_SECTION / 2);
		if (err)
			return err;
		fib_fpu_begin();
		fft_avx2_top(fft, f, a->digit, i, end);
		fib_fpu_end();
	}
	return 0;
}

/*
 * f[] = f[] g[] modulo the polynomial of a node, times @points / 4; f may be g.
 * A node that is too long for a section is split, once or twice.
 */
static int multiply(struct fib_call *call, const struct fft *fft,
		    const struct fft_root *level, size_t node,
		    struct fft_block *f, struct fft_block *g, size_t points)
{
	size_t quarter = points / 4 / FFT_BLOCK_POINTS;
	int err = fib_account_work(call, points * 4);

	if (err)
		return err;
	fib_fpu_begin();
	if (points <= FFT_SECTION) {
		fft_avx2_multiply(fft, level, node, f, g, points);
		fib_fpu_end();
		return 0;
	}
	fft_avx2_pass(fft, level, node, f, points);
	if (f != g)
		fft_avx2_pass(fft, level, node, g, points);
	fib_fpu_end();
	for (size_t i = 0; i < 4; i++) {
		err = multiply(call, fft, level + 1, 4 * node + i,
			       f + i * quarter, g + i * quarter, points / 4);
		if (err)
			return err;
	}
	fib_fpu_begin();
	fft_avx2_pass_inverse(fft, level, node, f, points);
	fib_fpu_end();
	return 0;
}

/* Add the carry of the row below to digits. */
static void carry_over(s16 *digit, const struct digits_carry *carry)
{
	s64 sum = (s64)carry->up[2] * DIGIT_BASE + carry->up[1] + carry->up[0];

	for (; sum; digit++) {
		s64 up;

		sum += *digit;
		up = (sum + (sum < 0 ? -DIGIT_BASE / 2 : DIGIT_BASE / 2)) /
		     DIGIT_BASE;
		*digit = sum - up * DIGIT_BASE;
		sum = up;
	}
}

/* c = the number whose rows are in fft->f, plus @addend */
static int digits_of(struct fib_call *call, struct fft *fft, struct digits *c,
		     size_t size, int addend)
{
	size_t blocks = fft->shape.row / FFT_BLOCK_POINTS;
	size_t rows = fft->shape.rows, row = fft->shape.row;
	int err;

	memset(fft->carry, 0, sizeof(fft->carry));
	fft->carry[0][0].up[0] = addend;
	for (size_t i = 0, end; i < blocks; i = end) {
		end = min(blocks, i + columns_at_once(fft));
		err = fib_account_work(call, FFT_SECTION);
		if (err)
			return err;
		fib_fpu_begin();
		fft_avx2_digits(fft, c->digit, size, i, end);
		fib_fpu_end();
	}
	c->size = (size + row - 1) / row * row;
	for (size_t i = 1; i * row < c->size; i++)
		carry_over(c->digit + i * row,
			   &fft->carry[i > rows][(i - 1) % rows]);
	digits_trim(c);
	return 0;
}

/**
 * fft_mul() - c = a * b + addend
 * @call: the call that does the work
 * @c: the product; may be @a or @b, or overlap both; needs an array twice as
 *	long as fft_digits() of the product
 * @a: a number, in an array of fft_digits() digits
 * @b: a number, also in such an array; for a square pass @a, which is faster
 * @addend: -2 to 2
 * @fft: from fft_create, for at least as many digits
 *
 * Return: 0 or -EINTR.
 */
int fft_mul(struct fib_call *call, struct digits *c, const struct digits *a,
	    const struct digits *b, int addend, struct fft *fft)
{
	size_t size = a->size + b->size;
	struct fft_block *g = a == b ? fft->f : fft->g;
	int err;

	/*
	 * A factor must fit into the real parts, because its imaginary parts
	 * are 0.
	 */
	err = prepare(call, fft, max(size, 2 * max(a->size, b->size))) ?:
		      top(call, fft, fft->f, a);
	if (!err && g != fft->f)
		err = top(call, fft, g, b);
	for (size_t i = 0; !err && i < fft->shape.rows; i++)
		err = multiply(call, fft, fft->row_root[i], 0,
			       fft->f + i * fft->shape.stride,
			       g + i * fft->shape.stride, fft->shape.row);
	return err ?: digits_of(call, fft, c, size, addend);
}
