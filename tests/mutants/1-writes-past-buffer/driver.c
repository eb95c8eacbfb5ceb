// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: read copies all digits, whatever the size of the buffer. */
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
	return kit_read(file, buf, 20, position);
}
