/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What a stage uses of the kernel, for a program: stage.h includes this instead
 * of the kernel's own headers.
 */
#ifndef FIBDRV_USER_KERNEL_H
#define FIBDRV_USER_KERNEL_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#ifdef FIB_TRACE
#include <stdio.h>
#endif
#include <string.h>
#include <sys/types.h>

#ifdef NDEBUG
#error "a stage's assertions are part of what is tested: build without NDEBUG"
#endif
#define fib_assert(condition) assert(condition)
#define fib_trace_print(format, ...) \
	fprintf(stderr, "fib: " format "\n", ##__VA_ARGS__)

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define swap(a, b)                        \
	do {                              \
		__typeof__(a) tmp_ = (a); \
		(a) = (b);                \
		(b) = tmp_;               \
	} while (0)
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

#endif
