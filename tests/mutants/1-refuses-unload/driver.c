// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: it holds a reference to itself. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/init.h>

static int __init fibdrv_init(void);
#define fibdrv_init(nothing) kit_init(nothing)
#include "kit_driver.c"
#undef fibdrv_init

static int __init fibdrv_init(void)
{
	__module_get(THIS_MODULE);
	return kit_init();
}
