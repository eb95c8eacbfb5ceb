/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Memory for a call's blocks for which no function of the kernel is called. What
 * is given back stays as it is as long as there is room elsewhere.
 */
#ifndef ARENA_H
#define ARENA_H

#include <linux/types.h>

/*
 * Room for calls that have at most @count blocks at a time, @bytes in all and
 * @beside each; -ENOMEM. No block may be in use.
 */
int arena_reserve(u64 bytes, u64 count, size_t beside);

void arena_destroy(void);

/* From here on blocks are placed as they were before, from the start. */
void arena_begin(void);

/* A block, aligned as kmalloc's are, or NULL: there is no gap as large. */
void *arena_get(size_t bytes);
void arena_put(void *block);

#endif
