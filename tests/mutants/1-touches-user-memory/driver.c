// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: digits are copied to the user's memory as if it were the kernel's. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/uaccess.h>

static unsigned long direct_copy(void __user *to, const void *from,
				 unsigned long size)
{
	const char *bytes = from;

	for (unsigned long i = 0; i < size; i++)
		*((volatile char __force *)to + i) = bytes[i];
	return 0;
}

#define copy_to_user direct_copy
#include "kit_driver.c"
