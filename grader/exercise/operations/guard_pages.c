// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Put operands on pages of their own, which are read-only while a function
 * runs. So a function that writes to an operand ends the program, even if it
 * restores the old value. An inaccessible page follows each operand.
 */
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include "unit_tests.h"

#define PAGE 4096
#define MOST 16

static struct apart {
	char *memory;
	size_t bytes; /* excluding the inaccessible page at the end */
} kept[MOST];

static void *get(size_t bytes)
{
	/*
	 * The block ends up to 15 bytes before the end of the page, because it
	 * must be aligned.
	 */
	size_t aligned = (bytes + 15) & ~(size_t)15;
	size_t whole = (aligned + PAGE - 1) & ~(size_t)(PAGE - 1);
	struct apart *free_one = NULL;
	char *block;

	for (size_t i = 0; i < MOST; i++)
		if (!kept[i].memory)
			free_one = &kept[i];
	if (!free_one)
		return NULL;
	free_one->memory = mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (free_one->memory == MAP_FAILED ||
	    mprotect(free_one->memory + whole, PAGE, PROT_NONE)) {
		free_one->memory = NULL;
		return NULL;
	}
	free_one->bytes = whole;
	block = free_one->memory + whole - aligned;
	memset(block, 0xbe, aligned);
	ASAN_POISON_MEMORY_REGION(block + bytes, aligned - bytes);
	return block;
}

static bool put(void *block)
{
	for (size_t i = 0; i < MOST; i++) {
		struct apart *one = &kept[i];

		if ((char *)block < one->memory ||
		    (char *)block >= one->memory + one->bytes)
			continue;
		ASAN_UNPOISON_MEMORY_REGION(one->memory, one->bytes);
		munmap(one->memory, one->bytes + PAGE);
		one->memory = NULL;
		one->bytes = 0;
		return true;
	}
	return false;
}

bool tests_is_apart(const void *place, size_t bytes)
{
	const char *begin = place;

	for (size_t i = 0; i < MOST; i++)
		if (kept[i].memory && begin >= kept[i].memory &&
		    begin < kept[i].memory + kept[i].bytes &&
		    bytes <= (size_t)(kept[i].memory + kept[i].bytes - begin))
			return true;
	return false;
}

void apart(bool on)
{
	allocator.get = on ? get : NULL;
	allocator.put = put;
}

void protect(bool on)
{
	for (size_t i = 0; i < MOST; i++)
		if (kept[i].memory)
			mprotect(kept[i].memory, kept[i].bytes,
				 on ? PROT_READ : PROT_READ | PROT_WRITE);
}
