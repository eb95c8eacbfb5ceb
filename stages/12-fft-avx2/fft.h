/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Products of long numbers by a fast Fourier transform in floating point.
 */
#ifndef FFT_H
#define FFT_H

#include "digits_avx2.h"

/* Maximum number of rows, and of levels of radix 4 within a row. */
#define FFT_ROWS 28
#define FFT_LEVELS 6
/*
 * Points of a row: at least 64, and at most 16384 (256 KB) to fit the L2 cache.
 */
#define FFT_ROW_MIN 64
#define FFT_ROW_MAX 16384

/**
 * struct fft_root - a point of the unit circle
 * @re: its real part, a double; at first an integer in units of 2^-62
 * @im: its imaginary part, in the same form
 */
struct fft_root {
	s64 re;
	s64 im;
};

/**
 * struct fft_block - four complex points, as two vectors of doubles
 * @re: four real parts; at first integers in units of 2^-62
 * @im: four imaginary parts, in the same form
 */
struct fft_block {
	s64 re[4];
	s64 im[4];
} __aligned(64);

#define FFT_BLOCK_POINTS 4

/**
 * struct fft_shape - a length, and how it is split
 * @points: complex points: @rows * @row
 * @rows: rows that the top passes split a polynomial into
 * @row: points of a row: a power of 4
 * @columns: blocks of each row that a top pass processes at once: whole vectors
 *	of digits
 * @stride: blocks from one row to the next
 * @odd: radix of the first top pass: 3, 5 or 7; 1 for none
 * @two: true if a pass of radix 2 follows the first pass
 * @fours: number of passes of radix 4 that follow, before the rows
 */
struct fft_shape {
	size_t points;
	size_t rows;
	size_t row;
	size_t columns;
	size_t stride;
	unsigned int odd;
	bool two;
	unsigned int fours;
};

/**
 * struct fft - transforms of one length, and the roots of unity they use
 * @shape: the length
 * @wheel: the roots of order shape.odd
 * @top: one root for each node of the pass of radix 2, three for each node of
 *	radix 4
 * @angle: for each row, the argument of the constant in its polynomial
 * @row_root: for each row and each level except the last, the 4th root of the
 *	constant of the first node
 * @carry: for each half of the coefficients and each row, the carry of its
 *	digits
 * @table: exp(2 pi i * reversed(k) / 4), with the bits of k reversed behind the
 *	binary point
 * @f: the points of a factor, and then of the product
 * @g: the points of the other factor, unless the product is a square
 */
struct fft {
	struct fft_shape shape;
	struct fft_root wheel[7];
	struct fft_root top[64];
	u64 angle[FFT_ROWS];
	struct fft_root row_root[FFT_ROWS][FFT_LEVELS];
	struct digits_carry carry[2][FFT_ROWS];
	struct fft_block *table;
	struct fft_block *f;
	struct fft_block *g;
};

size_t fft_digits(size_t digits);
size_t fft_room(size_t digits);
struct fft *fft_create(struct fib_call *call, void *room, size_t digits);
int fft_mul(struct fib_call *call, struct digits *c, const struct digits *a,
	    const struct digits *b, int addend, struct fft *fft);

#endif
