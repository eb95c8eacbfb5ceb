/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The types, constants and functions that a stage may use besides those of
 * stage.h.
 *
 * A stage includes no header of the kernel or of the C library. Its files are
 * preprocessed once, with this header, and the module, the programs and the
 * sanitizers' builds all compile the resulting text. So nothing here may differ
 * between these builds.
 *
 * The kit's own files have real headers instead. They define
 * FIBDRV_FREESTANDING_H before they include stage.h.
 */
#ifndef FIBDRV_FREESTANDING_H
#define FIBDRV_FREESTANDING_H

typedef signed char s8;
typedef unsigned char u8;
typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ssize_t;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)
#define SIZE_MAX ((size_t)-1)
#define static_assert _Static_assert
#define offsetof(type, member) __builtin_offsetof(type, member)

/*
 * The errors that a stage returns. They have the same values on all Linux
 * systems.
 */
#define EINTR 4
#define ENOMEM 12
#define EINVAL 22
#define ERANGE 34

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *a, const void *b, size_t size);

/*
 * As in linux/err.h, a function can return an error in place of a pointer: as
 * one of the last 4095 addresses, where no object can be.
 */
#define MAX_ERRNO 4095

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline long PTR_ERR(const void *pointer)
{
	return (long)pointer;
}

static inline bool IS_ERR(const void *pointer)
{
	return __builtin_expect(
		(unsigned long)pointer >= (unsigned long)-MAX_ERRNO, 0);
}

/*
 * Arithmetic on sizes in bytes: linux/overflow.h. An overflow gives SIZE_MAX,
 * which no allocation can satisfy. A sum or product of SIZE_MAX is SIZE_MAX
 * again.
 */
#define check_add_overflow(a, b, sum) __builtin_add_overflow(a, b, sum)
#define check_mul_overflow(a, b, product) __builtin_mul_overflow(a, b, product)

static inline size_t size_add(size_t a, size_t b)
{
	size_t bytes;

	return check_add_overflow(a, b, &bytes) ? SIZE_MAX : bytes;
}

static inline size_t size_mul(size_t a, size_t b)
{
	size_t bytes;

	return check_mul_overflow(a, b, &bytes) ? SIZE_MAX : bytes;
}

#define array_size(count, size) size_mul(count, size)

#define noinline __attribute__((noinline))
#define __aligned(bytes) __attribute__((aligned(bytes)))
#define __always_inline inline __attribute__((always_inline))
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

/* Return one more than the index of the highest bit of @x, or 0 if @x is 0. */
static inline int fls64(u64 x)
{
#ifdef __x86_64__
	int bit = -1;

	asm("bsrq %1, %q0" : "+r"(bit) : "rm"(x));
	return bit + 1;
#else
	return x ? 64 - __builtin_clzll(x) : 0;
#endif
}

#define swap(a, b)                        \
	do {                              \
		__typeof__(a) tmp_ = (a); \
		(a) = (b);                \
		(b) = tmp_;               \
	} while (0)

/*
 * As in the kernel, both operands must have the same type, and each is
 * evaluated once. min_t() first converts both to @type, for example an int
 * constant to size_t.
 */
#define min(a, b)                     \
	({                            \
		__auto_type a_ = (a); \
		__auto_type b_ = (b); \
		(void)(&a_ == &b_);   \
		a_ < b_ ? a_ : b_;    \
	})
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max(a, b)                     \
	({                            \
		__auto_type a_ = (a); \
		__auto_type b_ = (b); \
		(void)(&a_ == &b_);   \
		a_ > b_ ? a_ : b_;    \
	})

/*
 * The names used in stage.h before 2026-11-24, for learners' files from an
 * older kit. make stage=N convert renames them in these files. Remove this
 * block with the next change of stage.h.
 */
#define fib_spend fib_account_work
#define fib_look_up fib_yield

#endif
