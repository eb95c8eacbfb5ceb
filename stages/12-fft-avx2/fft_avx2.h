/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The parts of a transform that compute in vector registers. They may be called
 * only between fib_fpu_begin and fib_fpu_end, and none takes longer than
 * FFT_SECTION points need.
 */
#ifndef FFT_AVX2_H
#define FFT_AVX2_H

#include "fft.h"

/* The maximum number of points that are transformed in one section. */
#define FFT_SECTION 4096

void fft_avx2_constants(s64 *value, size_t count);
void fft_avx2_top(const struct fft *fft, struct fft_block *f, const s16 *digits,
		  size_t first, size_t end);
void fft_avx2_digits(struct fft *fft, s16 *digit, size_t size, size_t first,
		     size_t end);
void fft_avx2_pass(const struct fft *fft, const struct fft_root *level,
		   size_t node, struct fft_block *f, size_t points);
void fft_avx2_pass_inverse(const struct fft *fft, const struct fft_root *level,
			   size_t node, struct fft_block *f, size_t points);
void fft_avx2_multiply(const struct fft *fft, const struct fft_root *level,
		       size_t node, struct fft_block *f, struct fft_block *g,
		       size_t points);

#endif
