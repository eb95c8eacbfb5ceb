/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Whether a stage keeps what stage.h asks of it: checked at run time, in the
 * calls that measure or print its numbers. A driver whose code is its own needs
 * none of this. Each check prints what is wrong, at a limited rate: any user can
 * make the calls.
 */
#ifndef FIBDRV_STAGE_CHECKS_H
#define FIBDRV_STAGE_CHECKS_H

#include "account.h"

/* Behind the room given to fib_decimal, to see whether it keeps to it. */
#define GUARD_BYTES 16

static inline u64 fnv1a(const char *bytes, size_t size)
{
	u64 hash = 0xcbf29ce484222325ULL;

	while (size--)
		hash = (hash ^ (u8)*bytes++) * 0x100000001b3ULL;
	return hash;
}

/**
 * fib_check_account() - print what a call for F(@n) has left allocated
 */
void fib_check_account(const struct fib_account *account, u64 n);

/**
 * fib_check_error() - what a user may see of an error that a stage returned
 *
 * Return: @err, or -EIO for an error that stage.h does not name.
 */
long fib_check_error(long err, u64 n);

/**
 * fib_guard_set() - fill the GUARD_BYTES behind the @bound bytes of @digits
 */
void fib_guard_set(char *digits, size_t bound);

/**
 * fib_guard_holds() - whether the bytes behind @digits are as they were filled
 */
bool fib_guard_holds(const char *digits, size_t bound, u64 n);

/**
 * fib_check_kept() - whether compute has kept enough to make @count digits from
 * @bytes: what it has allocated for the number
 *
 * If it leaves the work to decimal, its own time means nothing.
 */
bool fib_check_kept(u64 bytes, ssize_t count, u64 n);

/**
 * fib_check_decimal() - whether fib_decimal keeps its promises
 * @digits: the @count digits of F(@n), which it has made of @f
 *
 * The number stays as it is, so that the same digits come again. Too little room
 * is -ERANGE, and nothing behind that room is touched.
 *
 * Return: 0, -EIO, or an error of fib_decimal.
 */
int fib_check_decimal(struct fib_call *call, const union fib_value *f,
		      char *digits, ssize_t count, u64 n);

#endif
