// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: a measurement of more than one repetition never ends. */
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
	struct fibdrv_measure m;
	long ret;

	do {
		ret = kit_ioctl(file, request, arg);
		cond_resched();
	} while (!ret && !copy_from_user(&m, (void __user *)arg, sizeof(m)) &&
		 m.repeat > 1);
	return ret;
}
