// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: a measurement computes once and multiplies. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/fs.h>

static long fibdrv_ioctl(struct file *file, unsigned int request,
			 unsigned long arg);
#define fibdrv_ioctl(file, request, arg) kit_ioctl(file, request, arg)
#include "kit_driver.c"
#undef fibdrv_ioctl

static long fibdrv_ioctl(struct file *file, unsigned int request,
			 unsigned long arg)
{
	struct fibdrv_measure __user *m = (void __user *)arg;
	u32 repeat;
	u64 value;
	long err;

	if (request != FIBDRV_IOC_MEASURE || get_user(repeat, &m->repeat) ||
	    repeat < 2 || repeat > FIBDRV_MAX_REPEAT || put_user(1, &m->repeat))
		return kit_ioctl(file, request, arg);
	err = kit_ioctl(file, request, arg);
	get_user(value, &m->compute_ns);
	put_user(value * repeat, &m->compute_ns);
	get_user(value, &m->decimal_ns);
	put_user(value * repeat, &m->decimal_ns);
	get_user(value, &m->digits);
	put_user(value * repeat, &m->digits);
	put_user(repeat, &m->repeat);
	return err;
}
