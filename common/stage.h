/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The contract between the driver and a stage.
 *
 * A stage is the arithmetic behind /dev/fibonacci: it defines fib_compute,
 * fib_decimal, fib_limbs and fib_release, and nothing else that is seen from
 * outside. It keeps nothing between two calls (no writable static data), takes
 * memory only from fib_alloc, and says how much work it does by fib_account_work. The
 * same sources build as part of a kernel module and as a user-space program.
 */
#ifndef FIBDRV_STAGE_H
#define FIBDRV_STAGE_H

#include "freestanding.h"

/**
 * fib_assert_failed() - report an assertion that does not hold
 *
 * The kernel logs a warning; a program ends.
 */
void __attribute__((cold)) fib_assert_failed(const char *file, int line);

/* States what a function may assume; a broken assumption is reported. */
#define fib_assert(condition)                                  \
	do {                                                   \
		if (__builtin_expect(!(condition), 0))         \
			fib_assert_failed(__FILE__, __LINE__); \
	} while (0)

/*
 * fib_trace() - show a value while you look for a mistake, as printf does
 *
 * It prints a line only in a build that is made for looking: make stage=N load
 * trace=1 (make dmesg shows the lines), make stage=N user trace=1 (on standard
 * error). Anywhere else, and so wherever a stage is graded or measured, it is
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
 * union fib_value - F(n), as fib_compute leaves it for fib_decimal
 * @word: the number itself (stages 1 and 2)
 * @big: the number on the heap (from stage 3 on), of the stage's own type
 */
union fib_value {
	u64 word;
	struct bignum *big;
};

/**
 * struct fib_call - what one call has used so far
 * @error: the last thing that failed, -ENOMEM or -EINTR; 0 if nothing has
 * @allocations: blocks taken from fib_alloc
 * @blocks: blocks not yet released
 * @bytes: bytes in those blocks, as they were asked for
 * @peak_bytes: the most that @bytes ever was
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
 * fib_alloc() - memory for @count objects of @size bytes, not cleared
 *
 * Return: the block, aligned for any limb, or NULL when there is no memory;
 * then @call->error is -ENOMEM.
 */
void *fib_alloc(struct fib_call *call, size_t count, size_t size);

/**
 * fib_free() - release a block of fib_alloc; NULL is fine
 */
void fib_free(const void *block);

/*
 * The most limb products between two yields: approximately 0.1 ms of work, so that
 * neither a waiting task nor a Ctrl-C waits for long, yet a yield costs less
 * than a thousandth of the work between two of them.
 */
#define FIB_WORK_LIMIT 100000

int fib_yield(struct fib_call *call);

/**
 * fib_account_work() - account for work, and from time to time yield
 * @call: the call the work belongs to
 * @products: the work just done or about to be done, in products of two limbs
 *	or steps of like cost; at most FIB_WORK_LIMIT at once
 *
 * Return: 0, or -EINTR when the caller has been killed: release everything and
 * return; @call->error says the same.
 */
static inline int fib_account_work(struct fib_call *call, size_t products)
{
	call->work += products;
	return call->work < FIB_WORK_LIMIT ? 0 : fib_yield(call);
}

/*
 * The names of these two in a copy of before 2026-11-24; make stage=N convert
 * renames them there. To be removed with the next change of this contract.
 */
#define fib_spend fib_account_work
#define fib_look_up fib_yield

/**
 * fib_compute() - the n-th Fibonacci number
 * @call: account of this call
 * @n: 0 to the stage's max_n, which the driver has checked
 * @f: where F(n) goes; to be released by fib_release
 *
 * Return: 0, -ENOMEM or -EINTR; after an error nothing is left to release.
 */
int fib_compute(struct fib_call *call, u64 n, union fib_value *f);

/**
 * fib_decimal() - the decimal digits of a number
 * @call: account of this call
 * @f: the number; it stays as it is
 * @digits: where the digits go, most significant first, without newline or NUL
 * @size: the room there, in bytes
 *
 * Return: the number of digits, at least 1; -ERANGE when they do not fit into
 * @size (what is in @digits is then undefined, nothing beyond it is touched);
 * -ENOMEM or -EINTR.
 */
ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size);

/**
 * fib_limbs() - how many limbs the number has, without leading zeros
 *
 * Return: at least 1; zero is one limb.
 */
size_t fib_limbs(const union fib_value *f);

/**
 * fib_release() - release what fib_compute took
 */
void fib_release(union fib_value *f);

#endif
