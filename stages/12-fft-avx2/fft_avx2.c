// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Transforms in vectors of four doubles. Real parts and imaginary parts are in
 * separate vectors, so complex arithmetic needs no shuffles.
 *
 * As fft.c explains, a butterfly is the same for each coefficient of a node,
 * until a node has only four coefficients. Then 16 points are in registers, and
 * they are transposed for the last level: now a vector has the same coefficient
 * of four nodes, and polynomials of four coefficients are multiplied as on
 * paper.
 */
#include "fft_avx2.h"
#include "simd.h"

#ifndef __CHECKER__ /* sparse knows no vectors */

/* Four complex numbers. */
struct complex4 {
	double4 re;
	double4 im;
};

static __always_inline struct complex4 *blocks(struct fft_block *f)
{
	return (struct complex4 *)f;
}

static __always_inline double4 broadcast(double x)
{
	return (double4){ x, x, x, x };
}

/* Load the parts of a root, whose doubles are stored in integers. */
static __always_inline double real(const struct fft_root *root)
{
	double x;

	__builtin_memcpy(&x, &root->re, sizeof(x));
	return x;
}

static __always_inline double imaginary(const struct fft_root *root)
{
	double x;

	__builtin_memcpy(&x, &root->im, sizeof(x));
	return x;
}

static __always_inline struct complex4
broadcast_root(const struct fft_root *root)
{
	return (struct complex4){ broadcast(real(root)),
				  broadcast(imaginary(root)) };
}

static __always_inline struct complex4 add(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re + b.re, a.im + b.im };
}

static __always_inline struct complex4 sub(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re - b.re, a.im - b.im };
}

/* a + i * b */
static __always_inline struct complex4 add_i(struct complex4 a,
					     struct complex4 b)
{
	return (struct complex4){ a.re - b.im, a.im + b.re };
}

/* a - i * b */
static __always_inline struct complex4 sub_i(struct complex4 a,
					     struct complex4 b)
{
	return (struct complex4){ a.re + b.im, a.im - b.re };
}

static __always_inline struct complex4 mul(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re * b.re - a.im * b.im,
				  a.re * b.im + a.im * b.re };
}

/* x + a * b */
static __always_inline struct complex4
mul_add(struct complex4 x, struct complex4 a, struct complex4 b)
{
	return (struct complex4){ x.re + a.re * b.re - a.im * b.im,
				  x.im + a.re * b.im + a.im * b.re };
}

/* x + a^2; @twice is 2 a */
static __always_inline struct complex4
add_square(struct complex4 x, struct complex4 a, struct complex4 twice)
{
	return (struct complex4){ x.re + a.re * a.re - a.im * a.im,
				  x.im + twice.re * a.im };
}

/* a times the conjugate of b, which is 1 / b if b is on the unit circle */
static __always_inline struct complex4 mul_conjugate(struct complex4 a,
						     struct complex4 b)
{
	return (struct complex4){ a.re * b.re + a.im * b.im,
				  a.im * b.re - a.re * b.im };
}

/* The powers 1, 2 and 3 of the 4th root of the constant of a node. */
struct powers {
	struct complex4 w1;
	struct complex4 w2;
	struct complex4 w3;
};

static __always_inline struct powers powers_of(struct complex4 w)
{
	struct powers p = { .w1 = w };

	p.w2 = mul(w, w);
	p.w3 = mul(p.w2, w);
	return p;
}

/*
 * Return the powers for a node of a row: the row's root for this level, times
 * the node's entry in the table.
 */
static __always_inline struct powers
node_powers(const struct fft *fft, const struct fft_root *level, size_t node)
{
	const struct fft_block *block = fft->table + node / FFT_BLOCK_POINTS;
	const struct fft_root place = { block->re[node % FFT_BLOCK_POINTS],
					block->im[node % FFT_BLOCK_POINTS] };

	return powers_of(mul(broadcast_root(level), broadcast_root(&place)));
}

/* Do a transform of length 4. */
static __always_inline void radix4_twisted(struct complex4 z[4])
{
	struct complex4 even = add(z[0], z[2]), odd = add(z[1], z[3]);
	struct complex4 even_i = sub(z[0], z[2]), odd_i = sub(z[1], z[3]);

	z[0] = add(even, odd);
	z[1] = sub(even, odd);
	z[2] = add_i(even_i, odd_i);
	z[3] = sub_i(even_i, odd_i);
}

/*
 * Radix 4: from the four quarters of a polynomial modulo x^(4m) - w^4, compute
 * its remainders modulo x^m - w, x^m + w, x^m - i w and x^m + i w.
 */
static __always_inline void radix4(struct complex4 z[4], const struct powers *p)
{
	z[1] = mul(z[1], p->w1);
	z[2] = mul(z[2], p->w2);
	z[3] = mul(z[3], p->w3);
	radix4_twisted(z);
}

/* The inverse of radix4, times 4. */
static __always_inline void radix4_inverse(struct complex4 z[4],
					   const struct powers *p)
{
	struct complex4 even = add(z[0], z[1]), odd = sub(z[0], z[1]);
	struct complex4 even_i = add(z[2], z[3]), odd_i = sub(z[2], z[3]);

	z[0] = add(even, even_i);
	z[1] = mul_conjugate(sub_i(odd, odd_i), p->w1);
	z[2] = mul_conjugate(sub(even, even_i), p->w2);
	z[3] = mul_conjugate(add_i(odd, odd_i), p->w3);
}

/* Do radix 4 for @count blocks; the quarters begin @quarter blocks apart. */
static __always_inline void radix4_pass(struct complex4 *f, size_t quarter,
					size_t count, const struct powers *p,
					bool inverse)
{
	for (size_t i = 0; i != count; i++) {
		struct complex4 z[4] = { f[i], f[quarter + i],
					 f[2 * quarter + i],
					 f[3 * quarter + i] };

		if (inverse)
			radix4_inverse(z, p);
		else
			radix4(z, p);
		f[i] = z[0];
		f[quarter + i] = z[1];
		f[2 * quarter + i] = z[2];
		f[3 * quarter + i] = z[3];
	}
}

/* Transpose a 4 by 4 matrix. */
static __always_inline void transpose_reals(double4 *a, double4 *b, double4 *c,
					    double4 *d)
{
	double4 ab0 = shuffle(*a, *b, 0, 4, 2, 6);
	double4 ab1 = shuffle(*a, *b, 1, 5, 3, 7);
	double4 cd0 = shuffle(*c, *d, 0, 4, 2, 6);
	double4 cd1 = shuffle(*c, *d, 1, 5, 3, 7);

	*a = shuffle(ab0, cd0, 0, 1, 4, 5);
	*b = shuffle(ab1, cd1, 0, 1, 4, 5);
	*c = shuffle(ab0, cd0, 2, 3, 6, 7);
	*d = shuffle(ab1, cd1, 2, 3, 6, 7);
}

static __always_inline void transpose(struct complex4 z[4])
{
	transpose_reals(&z[0].re, &z[1].re, &z[2].re, &z[3].re);
	transpose_reals(&z[0].im, &z[1].im, &z[2].im, &z[3].im);
}

/*
 * The coefficients of 16 points in four nodes; each vector has one of each
 * node.
 */
static __always_inline void forward16(struct complex4 z[4],
				      const struct complex4 *f,
				      const struct powers *p)
{
	z[0] = f[0];
	z[1] = f[1];
	z[2] = f[2];
	z[3] = f[3];
	radix4(z, p);
	transpose(z);
}

/* The constants of the four nodes below w: w, -w, i w and -i w. */
static __always_inline struct complex4 constants_below(struct complex4 w)
{
	return (struct complex4){
		shuffle(w.re, w.im, 0, 1, 6, 7) * (double4){ 1, -1, -1, 1 },
		shuffle(w.im, w.re, 0, 1, 6, 7) * (double4){ 1, -1, 1, -1 },
	};
}

/* a * b modulo x^4 - c, for polynomials of four coefficients */
static __always_inline void
multiply4(struct complex4 a[4], const struct complex4 b[4], struct complex4 c)
{
	struct complex4 high4 = mul(a[1], b[3]), high5 = mul(a[2], b[3]);
	struct complex4 high6 = mul(a[3], b[3]), low[4];

	high4 = mul_add(mul_add(high4, a[2], b[2]), a[3], b[1]);
	high5 = mul_add(high5, a[3], b[2]);
	low[0] = mul(a[0], b[0]);
	low[1] = mul_add(mul(a[0], b[1]), a[1], b[0]);
	low[2] = mul_add(mul_add(mul(a[0], b[2]), a[1], b[1]), a[2], b[0]);
	low[3] = mul_add(mul_add(mul(a[0], b[3]), a[1], b[2]), a[2], b[1]);
	a[3] = mul_add(low[3], a[3], b[0]);
	a[0] = mul_add(low[0], high4, c);
	a[1] = mul_add(low[1], high5, c);
	a[2] = mul_add(low[2], high6, c);
}

/* a^2 modulo x^4 - c */
static __always_inline void square4(struct complex4 a[4], struct complex4 c)
{
	struct complex4 twice0 = add(a[0], a[0]), twice1 = add(a[1], a[1]);
	struct complex4 twice2 = add(a[2], a[2]);
	struct complex4 high4 = add_square(mul(twice1, a[3]), a[2], twice2);
	struct complex4 high5 = mul(twice2, a[3]);
	struct complex4 high6 = mul(a[3], a[3]);
	struct complex4 low2 = add_square(mul(twice0, a[2]), a[1], twice1);

	a[3] = mul_add(mul(twice0, a[3]), twice1, a[2]);
	a[2] = mul_add(low2, high6, c);
	a[1] = mul_add(mul(twice0, a[1]), high5, c);
	a[0] = mul_add(mul(a[0], a[0]), high4, c);
}

/*
 * f = 4 * f * g, or 4 * f^2 if @square, modulo the polynomial of a node with 16
 * points.
 */
static __always_inline void multiply16(struct complex4 *f,
				       const struct complex4 *g,
				       const struct powers *p, bool square)
{
	struct complex4 y[4], z[4];

	forward16(z, f, p);
	if (square) {
		square4(z, constants_below(p->w1));
	} else {
		forward16(y, g, p);
		multiply4(z, y, constants_below(p->w1));
	}
	transpose(z);
	radix4_inverse(z, p);
	f[0] = z[0];
	f[1] = z[1];
	f[2] = z[2];
	f[3] = z[3];
}

/* Do multiply16's work for a node with 64 points, times 16; changes g. */
static __always_inline void multiply64(const struct fft *fft,
				       const struct fft_root *level,
				       size_t node, struct complex4 *f,
				       struct complex4 *g, bool square)
{
	const struct powers p = node_powers(fft, level, node);
	const struct complex4 *table = (struct complex4 *)fft->table;
	struct powers of_four;

	radix4_pass(f, 4, 4, &p, false);
	if (!square)
		radix4_pass(g, 4, 4, &p, false);
	/* Process the four child nodes at once. */
	of_four = powers_of(mul(table[node], broadcast_root(level + 1)));
	for (size_t i = 0; i < 4; i++) {
		const double *w = (const double *)&of_four + i;
		const struct powers one = {
			{ broadcast(w[0]), broadcast(w[4]) },
			{ broadcast(w[8]), broadcast(w[12]) },
			{ broadcast(w[16]), broadcast(w[20]) },
		};

		multiply16(f + 4 * i, g + 4 * i, &one, square);
	}
	radix4_pass(f, 4, 4, &p, true);
}

/*
 * Do not inline these functions: they have large frames, and the recursive
 * functions need small ones.
 */
static noinline void square_leaf(const struct fft *fft,
				 const struct fft_root *level, size_t node,
				 struct complex4 *f)
{
	multiply64(fft, level, node, f, f, true);
}

static noinline void multiply_leaf(const struct fft *fft,
				   const struct fft_root *level, size_t node,
				   struct complex4 *f, struct complex4 *g)
{
	multiply64(fft, level, node, f, g, false);
}

/**
 * fft_avx2_constants() - convert integers in units of 2^-62 to doubles
 * @value: the integers; each is replaced by its double, rounded once
 * @count: number of integers
 */
void fft_avx2_constants(s64 *value, size_t count)
{
	for (size_t i = 0; i != count; i++) {
		double x = (double)value[i] * 0x1p-62;

		__builtin_memcpy(&value[i], &x, sizeof(x));
	}
}

/**
 * fft_avx2_pass() - one level of a node of a row
 * @fft: the transform
 * @level: the row's roots, from the node's level on
 * @node: index of the node on its level
 * @f: its coefficients; replaced by those of its four children
 * @points: number of coefficients; at most FFT_ROW_MAX
 */
void fft_avx2_pass(const struct fft *fft, const struct fft_root *level,
		   size_t node, struct fft_block *f, size_t points)
{
	const struct powers p = node_powers(fft, level, node);
	size_t quarter = points / (4 * FFT_BLOCK_POINTS);

	radix4_pass(blocks(f), quarter, quarter, &p, false);
}

/**
 * fft_avx2_pass_inverse() - the inverse of fft_avx2_pass(), times 4
 */
void fft_avx2_pass_inverse(const struct fft *fft, const struct fft_root *level,
			   size_t node, struct fft_block *f, size_t points)
{
	const struct powers p = node_powers(fft, level, node);
	size_t quarter = points / (4 * FFT_BLOCK_POINTS);

	radix4_pass(blocks(f), quarter, quarter, &p, true);
}

/**
 * fft_avx2_multiply() - multiply two polynomials modulo that of a node
 * @fft: the transform
 * @level: the row's roots, from the node's level on
 * @node: index of the node on its level
 * @f: a polynomial; replaced by the product times @points / 4
 * @g: the other polynomial, undefined afterwards; @f for a square
 * @points: number of coefficients: a power of 4, 64 to FFT_SECTION
 *
 * Each child is completed before the next one begins, so that it stays in the
 * cache through all its levels and back.
 */
void fft_avx2_multiply(const struct fft *fft, const struct fft_root *level,
		       size_t node, struct fft_block *f, struct fft_block *g,
		       size_t points)
{
	size_t quarter = points / (4 * FFT_BLOCK_POINTS);

	if (points == 64) {
		if (f == g)
			square_leaf(fft, level, node, blocks(f));
		else
			multiply_leaf(fft, level, node, blocks(f), blocks(g));
		return;
	}
	fft_avx2_pass(fft, level, node, f, points);
	if (f != g)
		fft_avx2_pass(fft, level, node, g, points);
	for (size_t i = 0; i < 4; i++)
		fft_avx2_multiply(fft, level + 1, 4 * node + i, f + i * quarter,
				  g + i * quarter, points / 4);
	fft_avx2_pass_inverse(fft, level, node, f, points);
}

/* Load four digits as doubles; the four digits after them are read, too. */
static __always_inline double4 load_digits(const s16 *digit)
{
	s16x8 digits;
	s32x8 wide;

	__builtin_memcpy(&digits, digit, sizeof(digits));
	wide = __builtin_convertvector(digits, s32x8);
	return doubles(shuffle(wide, wide, 0, 1, 2, 3));
}

/*
 * Load a part from @digit, or from @at if @digit is NULL. Digits are real
 * numbers, which the first pass multiplies by a root as it loads them.
 */
static __always_inline struct complex4
part_times(const struct complex4 *at, const s16 *digit, struct complex4 w)
{
	double4 x;

	if (!digit)
		return mul(*at, w);
	x = load_digits(digit);
	return (struct complex4){ x * w.re, x * w.im };
}

/* Load the part that is not multiplied by a root. */
static __always_inline struct complex4 part(const struct complex4 *at,
					    const s16 *digit)
{
	if (!digit)
		return *at;
	return (struct complex4){ load_digits(digit), broadcast(0) };
}

/* i^k * z */
static __always_inline struct complex4 turn(struct complex4 z, unsigned int k)
{
	switch (k % 4) {
	case 0:
		return z;
	case 1:
		return (struct complex4){ -z.im, z.re };
	case 2:
		return (struct complex4){ -z.re, -z.im };
	default:
		return (struct complex4){ z.im, -z.re };
	}
}

/**
 * struct wheel - real and imaginary parts of the roots of odd order, except 1
 * @cosine: the real part of root j and of root p - j
 * @sine: the imaginary part of root j; root p - j has the opposite sign
 */
struct wheel {
	double4 cosine[4];
	double4 sine[4];
};

static __always_inline struct wheel wheel_of(const struct fft *fft,
					     unsigned int p)
{
	struct wheel w;

#pragma GCC unroll 3
	for (unsigned int j = 1; j <= p / 2; j++) {
		w.cosine[j] = broadcast(real(&fft->wheel[j]));
		w.sine[j] = broadcast(imaginary(&fft->wheel[j]));
	}
	return w;
}

/*
 * Do odd radix p. The substitution x^m = i^p y^m changes the parts of a
 * polynomial modulo x^(pm) - i to those of one modulo y^(pm) - 1, because
 * i^(p^2) = i: part t is rotated by p t right angles. Then a transform of
 * length p follows. Parts t and p - t have the same cosines, and sines of
 * opposite sign. @sum and @difference are the sum and the difference of these
 * parts, for t = 1 to (p - 1) / 2.
 */
static __always_inline void
odd_transform(struct complex4 *z, const struct wheel *w, struct complex4 first,
	      const struct complex4 *sum, const struct complex4 *difference,
	      const unsigned int p, bool inverse)
{
	z[0] = first;
#pragma GCC unroll 3
	for (unsigned int t = 1; t <= p / 2; t++)
		z[0] = add(z[0], sum[t]);
#pragma GCC unroll 3
	for (unsigned int j = 1; j <= p / 2; j++) {
		struct complex4 even = first, odd = {
			difference[1].re * w->sine[j],
			difference[1].im * w->sine[j],
		};

#pragma GCC unroll 3
		for (unsigned int t = 1; t <= p / 2; t++) {
			unsigned int k = j * t % p;
			bool back = k > p / 2; /* the sine is negative */

			k = back ? p - k : k;
			even.re += sum[t].re * w->cosine[k];
			even.im += sum[t].im * w->cosine[k];
			if (t > 1 && back) {
				odd.re -= difference[t].re * w->sine[k];
				odd.im -= difference[t].im * w->sine[k];
			} else if (t > 1) {
				odd.re += difference[t].re * w->sine[k];
				odd.im += difference[t].im * w->sine[k];
			}
		}
		z[inverse ? p - j : j] = add_i(even, odd);
		z[inverse ? j : p - j] = sub_i(even, odd);
	}
}

/*
 * Do the first top pass for blocks @first to @end of each row. The input,
 * @digits, is real; the rotation makes every second part imaginary.
 * One of t and p - t is even, so sums and differences need no addition.
 */
static __always_inline void odd_pass(const struct fft *fft, struct complex4 *f,
				     const s16 *digits, const unsigned int p,
				     size_t first, size_t end)
{
	const struct wheel w = wheel_of(fft, p);
	const size_t rows = fft->shape.rows / p, digits_apart = fft->shape.row;
	const size_t stride = fft->shape.stride;

	for (size_t row = 0; row < rows; row++) {
		for (size_t i = first; i < end; i++) {
			const s16 *digit = digits + row * digits_apart +
					   i * FFT_BLOCK_POINTS;
			struct complex4 *at = f + row * stride + i;
			struct complex4 z[7], sum[4], difference[4];

#pragma GCC unroll 3
			for (unsigned int t = 1; t <= p / 2; t++) {
				unsigned int even = t % 2 ? p - t : t;
				double4 x = load_digits(
					digit + even * rows * digits_apart);
				double4 y = load_digits(digit +
							(p - even) * rows *
								digits_apart);

				if (even % 4)
					x = -x;
				if ((p - even) * p % 4 == 3)
					y = -y;
				sum[t] = (struct complex4){ x, y };
				difference[t] =
					t == even ? (struct complex4){ x, -y } :
						    (struct complex4){ -x, y };
			}
			odd_transform(z, &w, part(at, digit), sum, difference,
				      p, false);
#pragma GCC unroll 7
			for (unsigned int t = 0; t < p; t++)
				at[t * rows * stride] = z[t];
		}
	}
}

/* Do the inverse of odd_pass, times p. */
static __always_inline void odd_pass_inverse(const struct fft *fft,
					     struct complex4 *f,
					     const unsigned int p, size_t first,
					     size_t end)
{
	const struct wheel w = wheel_of(fft, p);
	const size_t rows = fft->shape.rows / p, stride = fft->shape.stride;

	for (size_t row = 0; row < rows; row++) {
		for (size_t i = first; i < end; i++) {
			struct complex4 *at = f + row * stride + i;
			struct complex4 z[7], sum[4], difference[4];

#pragma GCC unroll 3
			for (unsigned int t = 1; t <= p / 2; t++) {
				struct complex4 x = at[t * rows * stride];
				struct complex4 y = at[(p - t) * rows * stride];

				sum[t] = add(x, y);
				difference[t] = sub(x, y);
			}
			odd_transform(z, &w, at[0], sum, difference, p, true);
#pragma GCC unroll 7
			for (unsigned int t = 0; t < p; t++)
				at[t * rows * stride] = turn(z[t], 3 * p * t);
		}
	}
}

/* Do radix 2 for a node of @rows rows. Read @digits unless it is NULL. */
static __always_inline void
radix2_pass(const struct fft *fft, struct complex4 *f, const s16 *digits,
	    size_t rows, const struct fft_root *root, size_t first, size_t end)
{
	const struct complex4 w = broadcast_root(root);
	size_t half = rows / 2;

	for (size_t row = 0; row < half; row++) {
		for (size_t i = first; i < end; i++) {
			struct complex4 *at = f + row * fft->shape.stride + i;
			struct complex4 *above = at + half * fft->shape.stride;
			const s16 *digit = NULL, *upper = NULL;
			struct complex4 a, b;

			if (digits) {
				digit = digits + row * fft->shape.row +
					i * FFT_BLOCK_POINTS;
				upper = digit + half * fft->shape.row;
			}
			a = part(at, digit);
			b = part_times(above, upper, w);
			*at = add(a, b);
			*above = sub(a, b);
		}
	}
}

/* Do the inverse of radix2_pass, times 2. */
static __always_inline void radix2_pass_inverse(const struct fft *fft,
						struct complex4 *f, size_t rows,
						const struct fft_root *root,
						size_t first, size_t end)
{
	const struct complex4 w = broadcast_root(root);
	size_t half = rows / 2 * fft->shape.stride;

	for (size_t row = 0; row < rows / 2; row++) {
		struct complex4 *at = f + row * fft->shape.stride;

		for (size_t i = first; i < end; i++) {
			struct complex4 a = at[i], b = at[half + i];

			at[i] = add(a, b);
			at[half + i] = mul_conjugate(sub(a, b), w);
		}
	}
}

/* Load the roots of a node of a top pass of radix 4. */
static __always_inline struct powers top_powers(const struct fft_root *root)
{
	return (struct powers){ broadcast_root(&root[0]),
				broadcast_root(&root[1]),
				broadcast_root(&root[2]) };
}

/* Do radix 4 for all rows. This is the first pass, so it reads @digits. */
static __always_inline void digits_pass(const struct fft *fft,
					struct complex4 *f, const s16 *digits,
					const struct fft_root *root,
					size_t first, size_t end)
{
	const struct powers p = top_powers(root);
	size_t quarter = fft->shape.rows / 4 * fft->shape.stride;
	size_t apart = fft->shape.rows / 4 * fft->shape.row;

	for (size_t row = 0; row < fft->shape.rows / 4; row++) {
		struct complex4 *at = f + row * fft->shape.stride;

		for (size_t i = first; i < end; i++) {
			const s16 *digit = digits + row * fft->shape.row +
					   i * FFT_BLOCK_POINTS;
			struct complex4 z[4] = {
				part(at, digit),
				part_times(at, digit + apart, p.w1),
				part_times(at, digit + 2 * apart, p.w2),
				part_times(at, digit + 3 * apart, p.w3),
			};

			radix4_twisted(z);
			at[i] = z[0];
			at[quarter + i] = z[1];
			at[2 * quarter + i] = z[2];
			at[3 * quarter + i] = z[3];
		}
	}
}

/* Do radix 4 for a node of @rows rows. */
static __always_inline void top4_pass(const struct fft *fft, struct complex4 *f,
				      size_t rows, const struct fft_root *root,
				      size_t first, size_t end, bool inverse)
{
	const struct powers p = top_powers(root);

	for (size_t row = 0; row < rows / 4; row++)
		radix4_pass(f + row * fft->shape.stride + first,
			    rows / 4 * fft->shape.stride, end - first, &p,
			    inverse);
}

/*
 * Do the top passes for those blocks of each row that fit into the cache
 * together.
 */
static void top_passes(const struct fft *fft, struct complex4 *f,
		       const s16 *digits, size_t first, size_t end)
{
	const struct fft_root *root = fft->top;
	size_t rows = fft->shape.rows / fft->shape.odd; /* rows of a node */
	size_t nodes = fft->shape.odd;

	if (fft->shape.odd == 3)
		odd_pass(fft, f, digits, 3, first, end);
	else if (fft->shape.odd == 5)
		odd_pass(fft, f, digits, 5, first, end);
	else if (fft->shape.odd == 7)
		odd_pass(fft, f, digits, 7, first, end);
	if (fft->shape.two) {
		if (nodes == 1)
			radix2_pass(fft, f, digits, rows, root++, first, end);
		else
			for (size_t i = 0; i < nodes; i++)
				radix2_pass(fft,
					    f + i * rows * fft->shape.stride,
					    NULL, rows, root++, first, end);
		nodes *= 2;
		rows /= 2;
	}
	if (nodes == 1) {
		digits_pass(fft, f, digits, root, first, end);
		root += 3;
		nodes = 4;
		rows /= 4;
	}
	for (; rows > 1; rows /= 4, nodes *= 4) {
		for (size_t i = 0; i < nodes; i++, root += 3)
			top4_pass(fft, f + i * rows * fft->shape.stride, rows,
				  root, first, end, false);
	}
}

static void top_passes_inverse(const struct fft *fft, struct complex4 *f,
			       size_t first, size_t end)
{
	size_t nodes = fft->shape.rows, rows = 1;
	const struct fft_root *root = fft->top;

	root += fft->shape.two ? fft->shape.odd : 0;
	for (size_t i = fft->shape.odd << fft->shape.two; i < nodes; i *= 4)
		root += 3 * i;
	for (unsigned int i = 0; i < fft->shape.fours; i++) {
		rows *= 4;
		nodes /= 4;
		root -= 3 * nodes;
		for (size_t j = 0; j < nodes; j++)
			top4_pass(fft, f + j * rows * fft->shape.stride, rows,
				  root + 3 * j, first, end, true);
	}
	if (fft->shape.two) {
		rows *= 2;
		nodes /= 2;
		root -= nodes;
		for (size_t i = 0; i < nodes; i++)
			radix2_pass_inverse(fft,
					    f + i * rows * fft->shape.stride,
					    rows, root + i, first, end);
	}
	if (fft->shape.odd == 3)
		odd_pass_inverse(fft, f, 3, first, end);
	else if (fft->shape.odd == 5)
		odd_pass_inverse(fft, f, 5, first, end);
	else if (fft->shape.odd == 7)
		odd_pass_inverse(fft, f, 7, first, end);
}

/**
 * fft_avx2_top() - do the top passes for a number
 * @fft: the transform
 * @f: the resulting rows
 * @digits: the digits of the number, fft->shape.points of them
 * @first: the first block of each row to process
 * @end: the block after the last one
 */
void fft_avx2_top(const struct fft *fft, struct fft_block *f, const s16 *digits,
		  size_t first, size_t end)
{
	for (size_t i = first, to; i < end; i = to) {
		to = min(end, i + fft->shape.columns);
		top_passes(fft, blocks(f), digits, i, to);
	}
}

/*
 * Compute the digits of blocks @first to @end of each row, if the number has
 * them.
 */
static void carry(struct fft *fft, s16 *digit, size_t size, size_t first,
		  size_t end)
{
	const struct fft_shape *shape = &fft->shape;
	double scale = 4.0 / (double)(s64)shape->points;

	for (size_t i = 0; i != 2 * shape->rows; i++) {
		size_t upper = i >= shape->rows, place = i * shape->row;
		size_t row = i - upper * shape->rows;
		struct complex4 *f =
			blocks(fft->f) + row * shape->stride + first;

		if (place >= size)
			break;
		digits_avx2_from_doubles(
			digit + place + first * FFT_BLOCK_POINTS,
			(const double *)(upper ? &f->im : &f->re),
			(end - first) * FFT_BLOCK_POINTS, scale,
			&fft->carry[upper][row]);
	}
}

/**
 * fft_avx2_digits() - do the inverse top passes, and compute the digits
 * @fft: the transform; @fft->f holds the rows
 * @digit: the resulting digits, of whole rows
 * @size: number of digits, rounded up to whole rows
 * @first: the first block of each row to process
 * @end: the block after the last one
 */
void fft_avx2_digits(struct fft *fft, s16 *digit, size_t size, size_t first,
		     size_t end)
{
	for (size_t i = first, to; i < end; i = to) {
		to = min(end, i + fft->shape.columns);
		top_passes_inverse(fft, blocks(fft->f), i, to);
		carry(fft, digit, size, i, to);
	}
}

#endif
