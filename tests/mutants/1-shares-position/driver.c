// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: all open files have one position. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/fs.h>

static loff_t shared_position;

static loff_t sharing_llseek(struct file *file, loff_t offset, int whence,
			     loff_t size)
{
	loff_t position;

	file->f_pos = shared_position;
	position = fixed_size_llseek(file, offset, whence, size);
	if (position >= 0)
		shared_position = position;
	return position;
}

#define fixed_size_llseek sharing_llseek
#include "kit_driver.c"
