// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Implement malloc and free in memory that is allocated before the program
 * begins. They do not call the kernel, and always take the same number of
 * instructions. The size of a block is rounded up to a power of two; free
 * blocks wait in a list of their size. The kernel does not clean up after a
 * program, so the blocks that are left are counted.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/string.h>

#include "kbench.h"
#include "shims.h"

#define USED 0x5eedb10cU
#define FREE 0xdeadb10cU
#define LEAST_ORDER 4

struct block {
	u32 order; /* 2^order bytes follow */
	u32 state;
	size_t size; /* requested bytes */
	struct block *next[]; /* the next free block, if this one is free */
};

static struct block *waiting[32];
static size_t taken, blocks, bytes;

void kbench_heap_left(size_t *count, size_t *size)
{
	*count = blocks;
	*size = bytes;
}

void *kb_malloc(size_t size)
{
	struct block *block;
	size_t whole;
	u32 order;

	if (size > HEAP_BYTES)
		return NULL;
	order = max_t(u32, LEAST_ORDER, size ? order_base_2(size) : 0);
	block = waiting[order];
	if (block) {
		waiting[order] = block->next[0];
	} else {
		whole = sizeof(*block) + ((size_t)1 << order);
		if (whole > HEAP_BYTES - taken)
			return NULL;
		block = (struct block *)(kbench_heap + taken);
		taken += whole;
	}
	block->order = order;
	block->state = USED;
	block->size = size;
	blocks++;
	bytes += size;
	return block + 1;
}

static struct block *block_of(void *memory, const char *what, void *caller)
{
	char *at = (char *)memory - sizeof(struct block);
	struct block *block = (struct block *)at;

	if (at < kbench_heap || at >= kbench_heap + taken ||
	    (at - kbench_heap) % sizeof(struct block))
		kbench_give_up(134,
			       "%s of memory that is not from malloc, in %ps",
			       what, caller);
	if (block->state == FREE)
		kbench_give_up(134, "%s of a block that was freed, in %ps",
			       what, caller);
	if (block->state != USED)
		kbench_give_up(
			134,
			"%s of a block whose header is overwritten, in %ps",
			what, caller);
	return block;
}

void kb_free(void *memory)
{
	struct block *block;

	if (!memory)
		return;
	block = block_of(memory, "free", __builtin_return_address(0));
	/* task 2 { */
	block->state = FREE;
	block->next[0] = waiting[block->order];
	waiting[block->order] = block;
	blocks--;
	bytes -= block->size;
	/* } task 2, until then: block->state = USED; */
}

void *kb_calloc(size_t count, size_t size)
{
	void *memory;

	if (size && count > HEAP_BYTES / size)
		return NULL;
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
	block = block_of(old, "realloc", __builtin_return_address(0));
	memory = kb_malloc(size);
	if (memory) {
		memcpy(memory, old, min(size, block->size));
		kb_free(old);
	}
	return memory;
}
