// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: loading it follows a null pointer. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/init.h>

static int __init fibdrv_init(void);
#define fibdrv_init(nothing) kit_init(nothing)
#include "kit_driver.c"
#undef fibdrv_init

static int __init fibdrv_init(void)
{
	u64 *volatile nowhere = NULL;

	*nowhere = 1;
	return kit_init();
}
