// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: lseek clamps the position instead of refusing it. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/fs.h>
#include <linux/minmax.h>

static loff_t clamping_llseek(struct file *file, loff_t offset, int whence,
			      loff_t size)
{
	if (whence == SEEK_SET)
		offset = clamp_t(loff_t, offset, 0, size);
	return fixed_size_llseek(file, offset, whence, size);
}

#define fixed_size_llseek clamping_llseek
#include "kit_driver.c"
