/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Allocate a call's blocks without calling a kernel function. A freed block
 * keeps its content until the arena has no other gap for a new block.
 */
#ifndef ARENA_H
#define ARENA_H

#include <linux/types.h>

/*
 * Reserve memory for calls that have up to @count blocks at a time, @bytes in
 * all, with @beside additional bytes for each block. Return 0 or -ENOMEM. No
 * block may be in use.
 */
int arena_reserve(u64 bytes, u64 count, size_t beside);

void arena_destroy(void);

/*
 * Place the next blocks at the start of the arena, so that equal calls get
 * equal addresses.
 */
void arena_begin(void);

/*
 * Return a block with the alignment of kmalloc, or NULL if no gap is large
 * enough.
 */
void *arena_get(size_t bytes);
void arena_put(void *block);

#endif
