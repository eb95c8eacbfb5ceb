// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Replaces fiber.c: a fiber is used after it is freed. */
#include <linux/slab.h>

#include "table.h"

#undef kfree_rcu
#define kfree_rcu(fiber, rcu)                      \
	do {                                       \
		kfree(fiber);                      \
		atomic_long_inc(&(fiber)->failed); \
	} while (0)
#include "fiber.c"
