// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Check at run time that a stage obeys stage.h: see stage_checks.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/string.h>

#include "stage_checks.h"

#define GUARD_BYTE 0xa5

/* Return " (NAME)" for an error that stages often return by mistake, or "". */
static const char *error_name(long err)
{
	switch (err) {
	case -ERANGE:
		return " (ERANGE)";
	case -EINVAL:
		return " (EINVAL)";
	default:
		return "";
	}
}

void fib_check_account(const struct fib_account *account, u64 n)
{
	if (!fib_account_agrees(account))
		pr_err_ratelimited(
			"F(%llu): the stage has changed the account of its memory\n",
			n);
	if (account->blocks)
		pr_err_ratelimited(
			"F(%llu) leaves %llu bytes in %llu blocks unfreed\n", n,
			account->bytes, account->blocks);
}

long fib_check_error(long err, u64 n)
{
	if (err == -ENOMEM || err == -EINTR)
		return err;
	pr_err_ratelimited("F(%llu): the stage returned %ld%s\n", n, err,
			   error_name(err));
	return -EIO;
}

void fib_guard_set(char *digits, size_t bound)
{
	memset(digits + bound, GUARD_BYTE, GUARD_BYTES);
}

bool fib_guard_holds(const char *digits, size_t bound, u64 n)
{
	if (!memchr_inv(digits + bound, GUARD_BYTE, GUARD_BYTES))
		return true;
	pr_err_ratelimited("F(%llu): decimal wrote past its %zu bytes\n", n,
			   bound);
	return false;
}

bool fib_check_kept(u64 bytes, ssize_t count, u64 n)
{
	/*
	 * A digit has more than 3.3 bits; union fib_value itself holds eight
	 * bytes.
	 */
	if (bytes + sizeof(union fib_value) >= div_u64(33 * (u64)count, 80))
		return true;
	pr_err_ratelimited(
		"F(%llu): compute keeps %llu bytes, too few for %zd digits\n",
		n, bytes, count);
	return false;
}

int fib_check_decimal(struct fib_call *call, const union fib_value *f,
		      char *digits, ssize_t count, u64 n)
{
	u64 hash = fnv1a(digits, count);
	char behind = digits[count - 1];
	ssize_t ret;

	ret = fib_decimal(call, f, digits, count);
	if (ret == -ENOMEM || ret == -EINTR)
		return ret;
	if (ret < 0) {
		pr_err_ratelimited(
			"F(%llu): decimal returned %zd%s for a buffer of exactly its %zd bytes\n",
			n, ret, error_name(ret), count);
		return -EIO;
	}
	if (ret != count || fnv1a(digits, count) != hash) {
		pr_err_ratelimited(
			"F(%llu): decimal changes the number it is given\n", n);
		return -EIO;
	}
	ret = fib_decimal(call, f, digits, count - 1);
	if (ret == -ENOMEM || ret == -EINTR)
		return ret;
	if (ret != -ERANGE || digits[count - 1] != behind) {
		pr_err_ratelimited(
			"F(%llu): decimal does not keep to %zd bytes\n", n,
			count - 1);
		return -EIO;
	}
	return 0;
}
