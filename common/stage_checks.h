/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Check at run time that a stage obeys stage.h, in the calls that measure or
 * print its numbers. An ordinary driver does not need such checks, because all
 * its code is its own. Each check prints a violation at a limited rate, because
 * any user can make the calls.
 */
#ifndef FIBDRV_STAGE_CHECKS_H
#define FIBDRV_STAGE_CHECKS_H

#include "account.h"

/* The number of bytes after fib_decimal's buffer that detect an overflow. */
#define GUARD_BYTES 16

static inline u64 fnv1a(const char *bytes, size_t size)
{
	u64 hash = 0xcbf29ce484222325ULL;

	while (size--)
		hash = (hash ^ (u8)*bytes++) * 0x100000001b3ULL;
	return hash;
}

/**
 * fib_check_account() - report memory that a call for F(@n) has not freed
 */
void fib_check_account(const struct fib_account *account, u64 n);

/**
 * fib_check_error() - convert a stage's error to an error for the user
 */
long fib_check_error(long err, u64 n);

/**
 * fib_guard_set() - fill the GUARD_BYTES after the @bound bytes of @digits
 */
void fib_guard_set(char *digits, size_t bound);

/**
 * fib_guard_holds() - return true if the GUARD_BYTES have not changed
 */
bool fib_guard_holds(const char *digits, size_t bound, u64 n);

/**
 * fib_check_kept() - check that compute has stored a number of @count digits
 * @bytes: the bytes that compute has allocated for the number
 *
 * If compute left its work to decimal, the time of compute would mean nothing.
 */
bool fib_check_kept(u64 bytes, ssize_t count, u64 n);

/**
 * fib_check_decimal() - check that fib_decimal obeys stage.h
 * @digits: the @count digits of F(@n) that fib_decimal has made from @f
 *
 * A second conversion must give the same digits, because the number must not
 * change. If the buffer is too small, fib_decimal must return -ERANGE and must
 * not write after the buffer.
 *
 * Return: 0, -EIO, or an error of fib_decimal.
 */
int fib_check_decimal(struct fib_call *call, const union fib_value *f,
		      char *digits, ssize_t count, u64 n);

#endif
