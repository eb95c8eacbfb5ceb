// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: read fills a buffer that is too small instead of refusing it. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/fs.h>

static ssize_t fibdrv_read(struct file *file, char __user *buf, size_t size,
			   loff_t *position);
#define fibdrv_read(file, buf, size, position) \
	kit_read(file, buf, size, position)
#include "kit_driver.c"
#undef fibdrv_read

static ssize_t fibdrv_read(struct file *file, char __user *buf, size_t size,
			   loff_t *position)
{
	struct fib_account account = FIB_ACCOUNT(account);
	union fib_value f;
	char digits[20];
	ssize_t count;

	if (*position > FIBDRV_MAX_N)
		return -EINVAL;
	fib_compute(&account.call, *position, &f);
	count = fib_decimal(&account.call, &f, digits, sizeof(digits));
	count = min_t(ssize_t, count, size);
	return copy_to_user(buf, digits, count) ? -EFAULT : count;
}
