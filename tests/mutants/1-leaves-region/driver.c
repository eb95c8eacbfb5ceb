// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: unloading keeps the device number. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/fs.h>

static void keep_region(dev_t number, unsigned int count)
{
}

#define unregister_chrdev_region keep_region
#include "kit_driver.c"
