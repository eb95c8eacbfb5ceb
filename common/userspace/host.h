/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The kit's own programs include this file before stage.h: the C library's
 * headers replace freestanding.h, which only stages use.
 */
#ifndef FIBDRV_USER_HOST_H
#define FIBDRV_USER_HOST_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

#ifdef NDEBUG
#error "the kit's assertions are part of what is tested: build without NDEBUG"
#endif

typedef unsigned char u8;
typedef short s16;
typedef int s32;
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

/* As in freestanding.h, for programs that call a stage's internal functions. */
static inline bool IS_ERR(const void *pointer)
{
	return (unsigned long)pointer >= (unsigned long)-4095;
}

#define FIBDRV_FREESTANDING_H
#include "stage.h"

#endif
