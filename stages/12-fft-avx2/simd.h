/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Vectors of 32 bytes, by the vector extensions of GCC and Clang. Functions
 * that take or return a vector are __always_inline, because a call would pass
 * the vector through memory.
 */
#ifndef SIMD_H
#define SIMD_H

#include "stage.h"

#ifndef __CHECKER__
typedef double double4 __attribute__((vector_size(32)));
typedef float float8 __attribute__((vector_size(32)));
typedef s32 s32x4 __attribute__((vector_size(16)));
typedef s32 s32x8 __attribute__((vector_size(32)));
typedef u32 u32x8 __attribute__((vector_size(32)));
typedef s16 s16x8 __attribute__((vector_size(16)));
typedef s16 s16x16 __attribute__((vector_size(32)));
typedef u16 u16x16 __attribute__((vector_size(32)));
typedef char char32 __attribute__((vector_size(32)));
#endif

#define shuffle(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

/*
 * Convert four integers to doubles. GCC 12 needs four instructions for
 * __builtin_convertvector, not one.
 */
#if __has_builtin(__builtin_ia32_cvtdq2pd256)
#define doubles(x) __builtin_ia32_cvtdq2pd256(x)
#else
#define doubles(x) __builtin_convertvector(x, double4)
#endif

#endif
