// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Transforms in vectors of four doubles: real parts in one, imaginary parts in
 * another, so that complex arithmetic needs no shuffles.
 *
 * A butterfly is the same for each coefficient of a node, as fft.c says, until a
 * node has four coefficients only. The last two levels are therefore done with
 * 16 points in registers, transposed in between: then a vector has the same
 * coefficient of four nodes.
 */
#include "fft_avx2.h"
#include "simd.h"

/* Blocks of each row that the top passes take at once: together 14 KB. */
#define COLUMNS 8

/* Four complex numbers. */
struct complex4 {
	double4 re;
	double4 im;
};

inlined struct complex4 *blocks(struct fft_block *f)
{
	return (struct complex4 *)f;
}

inlined double4 broadcast(double x)
{
	return (double4){ x, x, x, x };
}

/* The real and the imaginary part of a root, whose doubles lie in integers. */
inlined double real(const struct fft_root *root)
{
	double x;

	__builtin_memcpy(&x, &root->re, sizeof(x));
	return x;
}

inlined double imaginary(const struct fft_root *root)
{
	double x;

	__builtin_memcpy(&x, &root->im, sizeof(x));
	return x;
}

inlined struct complex4 broadcast_root(const struct fft_root *root)
{
	return (struct complex4){ broadcast(real(root)),
				  broadcast(imaginary(root)) };
}

inlined struct complex4 add(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re + b.re, a.im + b.im };
}

inlined struct complex4 sub(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re - b.re, a.im - b.im };
}

/* a + i * b */
inlined struct complex4 add_i(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re - b.im, a.im + b.re };
}

/* a - i * b */
inlined struct complex4 sub_i(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re + b.im, a.im - b.re };
}

inlined struct complex4 mul(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re * b.re - a.im * b.im,
				  a.re * b.im + a.im * b.re };
}

/* a * b, with the conjugate of b: its inverse if it is on the unit circle. */
inlined struct complex4 mul_conjugate(struct complex4 a, struct complex4 b)
{
	return (struct complex4){ a.re * b.re + a.im * b.im,
				  a.im * b.re - a.re * b.im };
}

/* The powers 1, 2 and 3 of the 4th root of a node's constant. */
struct powers {
	struct complex4 w1;
	struct complex4 w2;
	struct complex4 w3;
};

inlined struct powers powers_of(struct complex4 w)
{
	struct powers p = { .w1 = w };

	p.w2 = mul(w, w);
	p.w3 = mul(p.w2, w);
	return p;
}

/*
 * The powers for a node of a row: the row's root for the level, and the node's
 * place in the table.
 */
inlined struct powers node_powers(const struct fft *fft,
				  const struct fft_root *level, size_t node)
{
	const struct fft_block *block = fft->table + node / FFT_BLOCK_POINTS;
	const struct fft_root place = { block->re[node % FFT_BLOCK_POINTS],
					block->im[node % FFT_BLOCK_POINTS] };

	return powers_of(mul(broadcast_root(level), broadcast_root(&place)));
}

/*
 * Radix 4: from the four quarters a polynomial modulo x^(4m) - w^4, to what it
 * leaves modulo x^m - w, x^m + w, x^m - i w and x^m + i w.
 */
inlined void radix4(struct complex4 z[4], const struct powers *p)
{
	struct complex4 z1 = mul(z[1], p->w1), z2 = mul(z[2], p->w2);
	struct complex4 z3 = mul(z[3], p->w3);
	struct complex4 even = add(z[0], z2), odd = add(z1, z3);
	struct complex4 even_i = sub(z[0], z2), odd_i = sub(z1, z3);

	z[0] = add(even, odd);
	z[1] = sub(even, odd);
	z[2] = add_i(even_i, odd_i);
	z[3] = sub_i(even_i, odd_i);
}

/* The way back, times 4. */
inlined void radix4_inverse(struct complex4 z[4], const struct powers *p)
{
	struct complex4 even = add(z[0], z[1]), odd = sub(z[0], z[1]);
	struct complex4 even_i = add(z[2], z[3]), odd_i = sub(z[2], z[3]);

	z[0] = add(even, even_i);
	z[1] = mul_conjugate(sub_i(odd, odd_i), p->w1);
	z[2] = mul_conjugate(sub(even, even_i), p->w2);
	z[3] = mul_conjugate(add_i(odd, odd_i), p->w3);
}

/* Radix 4 for @count blocks of a quarter, @quarter blocks apart. */
inlined void radix4_pass(struct complex4 *f, size_t quarter, size_t count,
			 const struct powers *p, bool inverse)
{
	for (size_t i = 0; i < count; i++) {
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

/* Rows of a 4 by 4 matrix become its columns. */
inlined void transpose_reals(double4 *a, double4 *b, double4 *c, double4 *d)
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

inlined void transpose(struct complex4 z[4])
{
	transpose_reals(&z[0].re, &z[1].re, &z[2].re, &z[3].re);
	transpose_reals(&z[0].im, &z[1].im, &z[2].im, &z[3].im);
}

/* The values of 16 points, from coefficients; @p is for them, @q for their nodes. */
inlined void forward16(struct complex4 z[4], const struct complex4 *f,
		       const struct powers *p, const struct powers *q)
{
	z[0] = f[0];
	z[1] = f[1];
	z[2] = f[2];
	z[3] = f[3];
	radix4(z, p);
	transpose(z);
	radix4(z, q);
}

/*
 * 16 points of f times those of g, or f squared if g is f; of either the
 * coefficients modulo the node's polynomial, times 16 at the end.
 */
inlined void multiply16(struct complex4 *f, const struct complex4 *g,
			const struct powers *p, const struct powers *q,
			bool square)
{
	struct complex4 y[4], z[4];

	if (!square)
		forward16(y, g, p, q);
	forward16(z, f, p, q);
	z[0] = mul(z[0], square ? z[0] : y[0]);
	z[1] = mul(z[1], square ? z[1] : y[1]);
	z[2] = mul(z[2], square ? z[2] : y[2]);
	z[3] = mul(z[3], square ? z[3] : y[3]);
	radix4_inverse(z, q);
	transpose(z);
	radix4_inverse(z, p);
	f[0] = z[0];
	f[1] = z[1];
	f[2] = z[2];
	f[3] = z[3];
}

/* 64 points, of a node at @level. */
inlined void multiply64(const struct fft *fft, const struct fft_root *level,
			size_t node, struct complex4 *f, struct complex4 *g,
			bool square)
{
	const struct powers p = node_powers(fft, level, node);
	struct powers of_four;
	const struct complex4 *table = (struct complex4 *)fft->table;
	struct complex4 below;

	radix4_pass(f, 4, 4, &p, false);
	if (!square)
		radix4_pass(g, 4, 4, &p, false);
	/* Of the four nodes below at once. */
	below = broadcast_root(level + 1);
	of_four = powers_of(mul(table[node], below));
	below = broadcast_root(level + 2);
	for (size_t i = 0; i < 4; i++) {
		const double *w = (const double *)&of_four + i;
		const struct powers one = {
			{ broadcast(w[0]), broadcast(w[4]) },
			{ broadcast(w[8]), broadcast(w[12]) },
			{ broadcast(w[16]), broadcast(w[20]) },
		};
		const struct powers q =
			powers_of(mul(table[4 * node + i], below));

		multiply16(f + 4 * i, g + 4 * i, &one, &q, square);
	}
	radix4_pass(f, 4, 4, &p, true);
}

/**
 * fft_avx2_constants() - make doubles of integers in units of 2^-62
 * @value: the integers; each is replaced by its double, rounded once
 * @count: how many
 */
void fft_avx2_constants(s64 *value, size_t count)
{
	for (size_t i = 0; i < count; i++) {
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
 * @points: how many; no more than FFT_ROW_MAX
 */
void fft_avx2_pass(const struct fft *fft, const struct fft_root *level,
		   size_t node, struct fft_block *f, size_t points)
{
	const struct powers p = node_powers(fft, level, node);
	size_t quarter = points / (4 * FFT_BLOCK_POINTS);

	radix4_pass(blocks(f), quarter, quarter, &p, false);
}

/**
 * fft_avx2_pass_inverse() - the way back, times 4
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
 * @f: a polynomial; replaced by the product times @points
 * @g: the other one, left undefined; @f for a square
 * @points: how many coefficients: a power of 4, 64 to FFT_SECTION
 *
 * Each child is done with before the next begins, so that it stays in the cache
 * on the whole way down and up.
 */
void fft_avx2_multiply(const struct fft *fft, const struct fft_root *level,
		       size_t node, struct fft_block *f, struct fft_block *g,
		       size_t points)
{
	size_t quarter = points / (4 * FFT_BLOCK_POINTS);

	if (points == 64) {
		if (f == g)
			multiply64(fft, level, node, blocks(f), blocks(f),
				   true);
		else
			multiply64(fft, level, node, blocks(f), blocks(g),
				   false);
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

/* Four digits as doubles, from digit @i of a on. */
inlined double4 load_digits(const struct digits *a, size_t i)
{
	s16x4 digits;

	if (i >= a->size)
		return broadcast(0);
	__builtin_memcpy(&digits, a->digit + i, sizeof(digits));
	return __builtin_convertvector(__builtin_convertvector(digits, s32x4),
				       double4);
}

/*
 * Radix p, odd: from p parts, twisted so that they are modulo x^(pm) - 1, their
 * transform of length p. The parts t and p - t have cosines in common, and sines
 * but for the sign.
 */
inlined void odd_transform(struct complex4 *z, const struct fft *fft,
			   const unsigned int p, bool inverse)
{
	struct complex4 sum[4], difference[4], first = z[0];

#pragma GCC unroll 3
	for (unsigned int t = 1; t <= p / 2; t++) {
		sum[t] = add(z[t], z[p - t]);
		difference[t] = sub(z[t], z[p - t]);
		z[0] = add(z[0], sum[t]);
	}
#pragma GCC unroll 3
	for (unsigned int j = 1; j <= p / 2; j++) {
		struct complex4 even = first, odd;
		double4 sine = broadcast(imaginary(&fft->wheel[j]));

		odd.re = difference[1].re * sine;
		odd.im = difference[1].im * sine;
#pragma GCC unroll 3
		for (unsigned int t = 1; t <= p / 2; t++) {
			const struct fft_root *w = &fft->wheel[j * t % p];
			double4 cosine = broadcast(real(w));

			even.re += sum[t].re * cosine;
			even.im += sum[t].im * cosine;
			if (t == 1)
				continue;
			sine = broadcast(imaginary(w));
			odd.re += difference[t].re * sine;
			odd.im += difference[t].im * sine;
		}
		z[inverse ? p - j : j] = add_i(even, odd);
		z[inverse ? j : p - j] = sub_i(even, odd);
	}
}

/* The first of the top passes, for blocks @first to @end of each row. */
inlined void odd_pass(const struct fft *fft, struct complex4 *f,
		      const unsigned int p, size_t first, size_t end)
{
	size_t part = fft->rows / p;

	for (size_t row = 0; row < part; row++) {
		for (size_t i = first; i < end; i++) {
			struct complex4 *at = f + row * fft->stride + i;
			struct complex4 z[7];

			z[0] = at[0];
#pragma GCC unroll 6
			for (unsigned int t = 1; t < p; t++)
				z[t] = mul(at[t * part * fft->stride],
					   broadcast_root(&fft->twist[t]));
			odd_transform(z, fft, p, false);
#pragma GCC unroll 7
			for (unsigned int t = 0; t < p; t++)
				at[t * part * fft->stride] = z[t];
		}
	}
}

/* The way back, times p. */
inlined void odd_pass_inverse(const struct fft *fft, struct complex4 *f,
			      const unsigned int p, size_t first, size_t end)
{
	size_t part = fft->rows / p;

	for (size_t row = 0; row < part; row++) {
		for (size_t i = first; i < end; i++) {
			struct complex4 *at = f + row * fft->stride + i;
			struct complex4 z[7];

#pragma GCC unroll 7
			for (unsigned int t = 0; t < p; t++)
				z[t] = at[t * part * fft->stride];
			odd_transform(z, fft, p, true);
			at[0] = z[0];
#pragma GCC unroll 6
			for (unsigned int t = 1; t < p; t++)
				at[t * part * fft->stride] = mul_conjugate(
					z[t], broadcast_root(&fft->twist[t]));
		}
	}
}

/* Radix 2, for a node of @rows rows. */
inlined void radix2_pass(const struct fft *fft, struct complex4 *f, size_t rows,
			 const struct fft_root *root, size_t first, size_t end,
			 bool inverse)
{
	const struct complex4 w = broadcast_root(root);
	size_t half = rows / 2 * fft->stride;

	for (size_t row = 0; row < rows / 2; row++) {
		for (size_t i = first; i < end; i++) {
			struct complex4 *at = f + row * fft->stride + i;
			struct complex4 a = at[0], b = at[half];

			if (!inverse)
				b = mul(b, w);
			at[0] = add(a, b);
			b = sub(a, b);
			at[half] = inverse ? mul_conjugate(b, w) : b;
		}
	}
}

/* Radix 4, for a node of @rows rows. */
inlined void top4_pass(const struct fft *fft, struct complex4 *f, size_t rows,
		       const struct fft_root *root, size_t first, size_t end,
		       bool inverse)
{
	const struct powers p = { broadcast_root(&root[0]),
				  broadcast_root(&root[1]),
				  broadcast_root(&root[2]) };

	for (size_t row = 0; row < rows / 4; row++)
		radix4_pass(f + row * fft->stride + first,
			    rows / 4 * fft->stride, end - first, &p, inverse);
}

/* The top passes, for no more blocks of each row than the cache holds of all. */
static void top_passes(const struct fft *fft, struct complex4 *f, size_t first,
		       size_t end)
{
	const struct fft_root *root = fft->top;
	size_t rows = fft->rows / fft->odd; /* of a node */
	size_t nodes = fft->odd;

	if (fft->odd == 3)
		odd_pass(fft, f, 3, first, end);
	else if (fft->odd == 5)
		odd_pass(fft, f, 5, first, end);
	else if (fft->odd == 7)
		odd_pass(fft, f, 7, first, end);
	if (fft->two) {
		for (size_t i = 0; i < nodes; i++)
			radix2_pass(fft, f + i * rows * fft->stride, rows,
				    root++, first, end, false);
		nodes *= 2;
		rows /= 2;
	}
	for (; rows > 1; rows /= 4, nodes *= 4) {
		for (size_t i = 0; i < nodes; i++, root += 3)
			top4_pass(fft, f + i * rows * fft->stride, rows, root,
				  first, end, false);
	}
}

static void top_passes_inverse(const struct fft *fft, struct complex4 *f,
			       size_t first, size_t end)
{
	size_t nodes = fft->rows, rows = 1;
	const struct fft_root *root = fft->top;

	root += fft->two ? fft->odd : 0;
	for (size_t i = fft->odd << fft->two; i < nodes; i *= 4)
		root += 3 * i;
	for (unsigned int i = 0; i < fft->fours; i++) {
		rows *= 4;
		nodes /= 4;
		root -= 3 * nodes;
		for (size_t j = 0; j < nodes; j++)
			top4_pass(fft, f + j * rows * fft->stride, rows,
				  root + 3 * j, first, end, true);
	}
	if (fft->two) {
		rows *= 2;
		nodes /= 2;
		root -= nodes;
		for (size_t i = 0; i < nodes; i++)
			radix2_pass(fft, f + i * rows * fft->stride, rows,
				    root + i, first, end, true);
	}
	if (fft->odd == 3)
		odd_pass_inverse(fft, f, 3, first, end);
	else if (fft->odd == 5)
		odd_pass_inverse(fft, f, 5, first, end);
	else if (fft->odd == 7)
		odd_pass_inverse(fft, f, 7, first, end);
}

/**
 * fft_avx2_top() - the coefficients of a number, led through the top passes
 * @fft: the transform
 * @f: where they go
 * @a: the number; of no more than fft->points digits
 * @first: the first block of each row to do
 * @end: the one behind the last
 */
void fft_avx2_top(const struct fft *fft, struct fft_block *f,
		  const struct digits *a, size_t first, size_t end)
{
	for (size_t i = first, to; i < end; i = to) {
		to = min(end, i + COLUMNS);
		for (size_t row = 0; row < fft->rows; row++) {
			struct complex4 *at = blocks(f) + row * fft->stride;

			for (size_t j = i; j < to; j++) {
				at[j].re = load_digits(
					a, row * fft->row +
						   j * FFT_BLOCK_POINTS);
				at[j].im = broadcast(0);
			}
		}
		top_passes(fft, blocks(f), i, to);
	}
}

/**
 * fft_avx2_top_inverse() - the way back through the top passes, times fft->rows
 */
void fft_avx2_top_inverse(const struct fft *fft, struct fft_block *f,
			  size_t first, size_t end)
{
	for (size_t i = first, to; i < end; i = to) {
		to = min(end, i + COLUMNS);
		top_passes_inverse(fft, blocks(f), i, to);
	}
}

/* x to the nearest integer, if |x| < 2^51 */
inlined double4 round_off(double4 x)
{
	const double4 shift = broadcast(0x1.8p52);

	return (x + shift) - shift;
}

/* @a shifted up by one, two or three places, the vector below coming after it. */
inlined s32x4 up1(s32x4 below, s32x4 a)
{
	return shuffle(below, a, 3, 4, 5, 6);
}

inlined s32x4 up2(s32x4 below, s32x4 a)
{
	return shuffle(below, a, 2, 3, 4, 5);
}

inlined s32x4 up3(s32x4 below, s32x4 a)
{
	return shuffle(below, a, 1, 2, 3, 4);
}

/*
 * Four digits of coefficients times fft->points, which lie in @x.
 *
 * A coefficient is an integer of less than 10^13, and has four digits: three of
 * at most 5000 either way and one of at most 10. Four of these meet at each
 * place, and make a digit of at most 15010: whatever is carried from there is at
 * most 2, and nothing is carried further.
 */
inlined s32x4 carry_four(double4 x, double4 scale, s32x4 carry[4])
{
	const double4 base = broadcast(DIGIT_BASE);
	double4 z = round_off(x * scale);
	double4 q1 = round_off(z * broadcast(1.0 / DIGIT_BASE));
	double4 q2 = round_off(q1 * broadcast(1.0 / DIGIT_BASE));
	double4 q3 = round_off(q2 * broadcast(1.0 / DIGIT_BASE));
	s32x4 d = __builtin_convertvector(z - q1 * base, s32x4);
	s32x4 d1 = __builtin_convertvector(q1 - q2 * base, s32x4);
	s32x4 d2 = __builtin_convertvector(q2 - q3 * base, s32x4);
	s32x4 d3 = __builtin_convertvector(q3, s32x4), up;

	d += up1(carry[0], d1) + up2(carry[1], d2) + up3(carry[2], d3);
	/* Comparisons are -1 where they hold. */
	up = (d < -DIGIT_BASE / 2) - (d > DIGIT_BASE / 2) +
	     (d < -3 * DIGIT_BASE / 2) - (d > 3 * DIGIT_BASE / 2);
	d -= up * DIGIT_BASE;
	d += up1(carry[3], up);
	carry[0] = d1;
	carry[1] = d2;
	carry[2] = d3;
	carry[3] = up;
	return d;
}

/**
 * fft_avx2_carry() - digits of a product, from its coefficients
 * @fft: the transform; @fft->f has the coefficients, times @fft->points
 * @digit: where the digits go: 4 for each block
 * @upper: whether to take imaginary parts, the upper half of the coefficients
 * @first: the first block to do, counted across rows; a multiple of four
 * @end: the one behind the last; a multiple of four
 * @carry: from the blocks below, and then to those above
 */
void fft_avx2_carry(const struct fft *fft, s16 *digit, bool upper, size_t first,
		    size_t end, struct fft_carry *carry)
{
	const double4 scale = broadcast(1.0 / (double)(s64)fft->points);
	size_t row_blocks = fft->row / FFT_BLOCK_POINTS;
	s32x4 high[4];

	__builtin_memcpy(high, carry->high, sizeof(high));
	for (size_t i = first; i < end; i += 4) {
		size_t row = i / row_blocks;
		const struct complex4 *f = blocks(fft->f) + row * fft->stride +
					   i % row_blocks;
		s32x4 d[4];

#pragma GCC unroll 4
		for (size_t j = 0; j < 4; j++)
			d[j] = carry_four(upper ? f[j].im : f[j].re, scale,
					  high);
#pragma GCC unroll 4
		for (size_t j = 0; j < 4; j += 2) {
			s32x8 pair = shuffle(d[j], d[j + 1], 0, 1, 2, 3, 4, 5,
					     6, 7);
			s16x8 packed = __builtin_convertvector(pair, s16x8);

			__builtin_memcpy(digit + (i + j) * FFT_BLOCK_POINTS,
					 &packed, sizeof(packed));
		}
	}
	__builtin_memcpy(carry->high, high, sizeof(high));
}
