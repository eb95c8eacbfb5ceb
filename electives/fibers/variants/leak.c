// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Replaces storage.c: the values of a fiber are never freed. */
#include <linux/slab.h>

#define kfree(block) ((void)(block))
#include "storage.c"
