// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: one static variable holds the time of whatever write there is. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/fs.h>

static ssize_t fibdrv_write(struct file *file, const char __user *buf,
			    size_t size, loff_t *position);
#define fibdrv_write(file, buf, size, position) \
	__maybe_unused kit_write(file, buf, size, position)
#include "kit_driver.c"
#undef fibdrv_write

/*
 * As many first drivers do it. A second call that begins meanwhile sets the
 * clock to its own beginning; and if the first ends, the second takes the
 * first's duration for the time it has begun.
 */
static ktime_t kt;

static ssize_t fibdrv_write(struct file *file, const char __user *buf,
			    size_t size, loff_t *position)
{
	struct fib_account account = FIB_ACCOUNT(account);
	union fib_value f;
	int err;

	if (*position > FIBDRV_MAX_N)
		return -EINVAL;
	if (!READ_ONCE(ktime_measure))
		return size;
	kt = ktime_get();
	err = fib_compute(&account.call, *position, &f);
	kt = ktime_sub(ktime_get(), kt);
	if (err)
		return err;
	fib_release(&f);
	return max_t(s64, ktime_to_ns(kt), 1);
}
