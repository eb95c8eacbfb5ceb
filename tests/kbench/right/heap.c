// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A right solution by another method, a buddy allocator: the header is in the
 * block, free neighbours become one block, and realloc returns the old block if
 * it is large enough.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "kbench.h"
#include "shims.h"

#define LEAST_ORDER 6
#define HEAP_ORDER 25
#define USED 0x5eedb10cU
#define FREE 0xdeadb10cU

struct block {
	u32 order, state;
	size_t size; /* requested bytes */
	struct block *next, **link; /* of a free block */
};

static struct block *waiting[HEAP_ORDER + 1];
static u32 filled; /* bit k: waiting[k] is not empty */
static bool begun;
static size_t blocks, bytes;

void kbench_heap_left(size_t *count, size_t *size)
{
	*count = blocks;
	*size = bytes;
}

static void insert(struct block *block, u32 order)
{
	block->order = order;
	block->state = FREE;
	block->next = waiting[order];
	block->link = &waiting[order];
	if (block->next)
		block->next->link = &block->next;
	waiting[order] = block;
	filled |= 1U << order;
}

static void take_out(struct block *block)
{
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
	if (!waiting[block->order])
		filled &= ~(1U << block->order);
}

static struct block *at_offset(size_t offset)
{
	return (struct block *)(kbench_heap + offset);
}

void *kb_malloc(size_t size)
{
	struct block *block;
	u32 order, larger;

	if (!begun)
		insert(at_offset(0), HEAP_ORDER);
	begun = true;
	if (size > HEAP_BYTES - 16)
		return NULL;
	order = max_t(u32, LEAST_ORDER, order_base_2(size + 16));
	if (!(filled >> order))
		return NULL;
	larger = order + (u32)__builtin_ctz(filled >> order);
	block = waiting[larger];
	take_out(block);
	while (larger > order) {
		larger--;
		insert((struct block *)((char *)block + (1UL << larger)),
		       larger);
	}
	block->order = order;
	block->state = USED;
	block->size = size;
	blocks++;
	bytes += size;
	return (char *)block + 16;
}

static struct block *block_of(void *memory)
{
	char *at = (char *)memory - 16;
	struct block *block = (struct block *)at;

	if (at < kbench_heap || at >= kbench_heap + HEAP_BYTES ||
	    (at - kbench_heap) % (1 << LEAST_ORDER) || block->state != USED)
		kbench_give_up(134, "this block is not in use");
	return block;
}

void kb_free(void *memory)
{
	struct block *block, *buddy;
	size_t offset;
	u32 order;

	if (!memory)
		return;
	block = block_of(memory);
	blocks--;
	bytes -= block->size;
	block->state = FREE;
	offset = (size_t)((char *)block - kbench_heap);
	for (order = block->order; order < HEAP_ORDER; order++) {
		buddy = at_offset(offset ^ 1UL << order);
		if (buddy->state != FREE || buddy->order != order)
			break;
		take_out(buddy);
		offset &= ~(1UL << order);
	}
	insert(at_offset(offset), order);
}

void *kb_calloc(size_t count, size_t size)
{
	void *memory = NULL;

	if (!size || count <= HEAP_BYTES / size)
		memory = kb_malloc(count * size);
	if (memory)
		memset(memory, 0, count * size);
	return memory;
}

void *kb_realloc(void *old, size_t size)
{
	struct block *block;
	void *memory;

	if (!old)
		return kb_malloc(size);
	block = block_of(old);
	if (size <= (1UL << block->order) - 16) {
		bytes += size - block->size;
		block->size = size;
		return old;
	}
	memory = kb_malloc(size);
	if (memory) {
		memcpy(memory, old, min(size, block->size));
		kb_free(old);
	}
	return memory;
}
