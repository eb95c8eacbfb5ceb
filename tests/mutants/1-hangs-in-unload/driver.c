// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: unloading it never ends. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/init.h>

static void __exit fibdrv_exit(void);
#define fibdrv_exit(nothing) kit_exit(nothing)
#include "kit_driver.c"
#undef fibdrv_exit

static void __exit fibdrv_exit(void)
{
	for (;;)
		cond_resched();
	kit_exit();
}
