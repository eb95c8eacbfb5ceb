/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The contract between the driver and a stage.
 *
 * A stage is the arithmetic behind /dev/fibonacci. It defines fib_compute,
 * fib_decimal, fib_limbs and fib_release. Its other global names must not be
 * names of the kernel or of the kit. It keeps no data between two calls (no
 * writable static data), allocates memory only by fib_alloc, and reports its
 * work by fib_account_work (from stage 3 on; stages 1 and 2 need not call it).
 * It divides no 128-bit numbers, because the kernel has no function for this.
 * The same sources are built as part of a kernel module and as a user-space
 * program.
 */
#ifndef FIBDRV_STAGE_H
#define FIBDRV_STAGE_H

#include "freestanding.h"

/**
 * fib_assert_failed() - report a failed assertion
 *
 * The kernel logs a warning; a program ends.
 */
void __attribute__((cold)) fib_assert_failed(const char *file, int line);

/* Check a condition that must hold, and report it if it does not hold. */
#define fib_assert(condition)                                  \
	do {                                                   \
		if (__builtin_expect(!(condition), 0))         \
			fib_assert_failed(__FILE__, __LINE__); \
	} while (0)

/*
 * fib_trace() - print a value for debugging, as printf does
 *
 * It prints a line only in builds with trace=1: make stage=N load trace=1 (make
 * dmesg shows the lines) and make stage=N user trace=1 (on standard error). In
 * all other builds, and so wherever a stage is graded or measured, it does
 * nothing, and its arguments are not evaluated.
 */
void __attribute__((format(printf, 1, 2))) fib_trace_print(const char *format,
							   ...);

#ifdef FIB_TRACE
#define fib_trace(format, ...) fib_trace_print(format, ##__VA_ARGS__)
#else
#define fib_trace(format, ...)                                  \
	do {                                                    \
		if (0)                                          \
			fib_trace_print(format, ##__VA_ARGS__); \
	} while (0)
#endif

/**
 * union fib_value - F(n), as fib_compute passes it to fib_decimal
 * @word: the number itself (stages 1 and 2)
 * @big: the number on the heap (from stage 3 on), in the stage's own type
 */
union fib_value {
	u64 word;
	struct bignum *big;
};

/**
 * struct fib_call - the memory and the work of one call so far
 * @error: the last error, -ENOMEM or -EINTR; 0 if there was none
 * @allocations: number of blocks allocated by fib_alloc
 * @blocks: number of blocks not yet freed
 * @bytes: bytes in the blocks not yet freed, as they were requested
 * @peak_bytes: the maximum of @bytes so far
 * @work: limb products since the last yield
 */
struct fib_call {
	int error;
	u64 allocations;
	u64 blocks;
	u64 bytes;
	u64 peak_bytes;
	u64 work;
};

/**
 * fib_alloc() - allocate memory for @count objects of @size bytes, not cleared
 *
 * Return: the block, aligned for any limb, or NULL if there is no memory; then
 * @call->error is -ENOMEM.
 */
void *fib_alloc(struct fib_call *call, size_t count, size_t size);

/**
 * fib_free() - free a block of fib_alloc; NULL is allowed
 */
void fib_free(const void *block);

/*
 * The maximum number of limb products between two yields: approximately 0.1 ms
 * of work. So another task or a Ctrl-C waits only briefly, and a yield still
 * costs less than a thousandth of the work between two yields.
 */
#define FIB_WORK_LIMIT 100000

int fib_yield(struct fib_call *call);

/**
 * fib_account_work() - account for work, and yield when enough has been done
 * @call: the call that does the work
 * @products: the work just done or about to be done, in products of two limbs
 *	or operations of similar cost; at most FIB_WORK_LIMIT at once
 *
 * Return: 0, or -EINTR if the caller has been killed. After -EINTR, free all
 * memory and return; @call->error is -EINTR, too.
 */
static inline int fib_account_work(struct fib_call *call, size_t products)
{
	call->work += products;
	return call->work < FIB_WORK_LIMIT ? 0 : fib_yield(call);
}

/**
 * fib_compute() - compute the n-th Fibonacci number
 * @call: the account of this call
 * @n: 0 to the stage's max_n, which the driver has checked
 * @f: the result; fib_release must release it
 *
 * Return: 0, -ENOMEM or -EINTR; after an error nothing is left to release.
 */
int fib_compute(struct fib_call *call, u64 n, union fib_value *f);

/**
 * fib_decimal() - convert a number to decimal digits
 * @call: the account of this call
 * @f: the number; must not change
 * @digits: the result, most significant digit first, without newline or NUL
 * @size: the size of @digits in bytes
 *
 * Return: the number of digits, at least 1; -ERANGE if they do not fit into
 * @size bytes (the content of @digits is then undefined, and nothing after it
 * may have changed); -ENOMEM or -EINTR.
 */
ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size);

/**
 * fib_limbs() - return the number of limbs of a number, without leading zeros
 *
 * Return: at least 1, because zero has one limb.
 */
size_t fib_limbs(const union fib_value *f);

/**
 * fib_release() - free the memory of a result of fib_compute
 */
void fib_release(union fib_value *f);

#endif
