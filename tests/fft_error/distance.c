// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Print the distances of product coefficients from integers before rounding:
 * for each length and kind of digits the largest distance, and the bound that
 * the stage proves. This program includes the stage's fft.c, because its
 * functions are static.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fft.c"

enum kind { RANDOM, LARGEST, ALTERNATING, BLOCKS, KINDS };
static const char *const names[] = { "random", "largest", "alternating",
				     "blocks" };

static void fill(struct digits *a, size_t size, enum kind kind)
{
	static const int sign[] = { 1, 1, -1, -1, -1, 1, -1, 1 };

	a->size = size;
	for (size_t i = 0; i < size; i++)
		a->digit[i] =
			kind == RANDOM ?
				random() % (2 * DIGIT_MAX + 1) - DIGIT_MAX :
			kind == LARGEST	    ? DIGIT_MAX :
			kind == ALTERNATING ? (i % 2 ? DIGIT_MAX : -DIGIT_MAX) :
					      DIGIT_MAX * sign[i / 16 % 8];
}

static double value(const struct fft *fft, size_t i, bool upper)
{
	const struct fft_block *block = fft->f +
					i / fft->shape.row * fft->shape.stride +
					i % fft->shape.row / FFT_BLOCK_POINTS;
	double x;

	memcpy(&x, (upper ? block->im : block->re) + i % FFT_BLOCK_POINTS,
	       sizeof(x));
	return 4 * x / fft->shape.points;
}

/* Return the largest distance of a coefficient of a * b from an integer. */
static double distance(struct fib_call *call, struct fft *fft,
		       const struct digits *a, const struct digits *b)
{
	struct fft_block *g = a == b ? fft->f : fft->g;
	double most = 0;

	if (prepare(call, fft, a->size + b->size) ||
	    top(call, fft, fft->f, a) || (a != b && top(call, fft, g, b)))
		abort();
	for (size_t i = 0; i < fft->shape.rows; i++)
		if (multiply(call, fft, fft->row_root[i], 0,
			     fft->f + i * fft->shape.stride,
			     g + i * fft->shape.stride, fft->shape.row))
			abort();
	fft_avx2_digits(fft, NULL, 0, 0, fft->shape.row / FFT_BLOCK_POINTS);
	for (size_t i = 0; i < fft->shape.points; i++) {
		double re = value(fft, i, false), im = value(fft, i, true);

		most = fmax(most,
			    fmax(fabs(re - rint(re)), fabs(im - rint(im))));
	}
	return most;
}

/*
 * Usage: distance POINTS... Each output line has points, kind, distance of the
 * square, distance of the product, and bound.
 */
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		size_t points = strtoul(argv[i], NULL, 10);
		struct fib_call call = {};
		struct digits a, b;
		struct fft *fft = fft_create(
			&call, malloc(fft_room(2 * points)), 2 * points);

		a.digit = malloc((points + 64) * sizeof(s16));
		b.digit = malloc((points + 64) * sizeof(s16));
		for (enum kind kind = 0; kind < KINDS; kind++) {
			double square, product, bound;

			fill(&a, points, kind);
			fill(&b, points, kind);
			square = distance(&call, fft, &a, &a);
			product = distance(&call, fft, &a, &b);
			if (fft->shape.points != points)
				abort();
			bound = (double)error_units(&fft->shape) / 100 *
				points * DIGIT_MAX * DIGIT_MAX * 0x1p-53;
			printf("%zu %s %.3g %.3g %.3g\n", points, names[kind],
			       square, product, bound);
		}
	}
	return 0;
}
