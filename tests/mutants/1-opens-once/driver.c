// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: only one may have it open, as if it held a lock from open to close. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/fs.h>

static int fibdrv_open(struct inode *inode, struct file *file);
#define fibdrv_open(inode, file) kit_open(inode, file)
#include "kit_driver.c"
#undef fibdrv_open

static int fibdrv_open(struct inode *inode, struct file *file)
{
	return module_refcount(THIS_MODULE) > 2 ? -EBUSY :
						  kit_open(inode, file);
}
