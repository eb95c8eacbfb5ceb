// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Stands in for storage.c: the values of a fiber are not given back. */
#include <linux/slab.h>

#define kfree(block) ((void)(block))
#include "storage.c"
