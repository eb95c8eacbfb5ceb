// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find out whether memory that no array of memblock uses has been used. A function that writes
 * behind an array, or to an array that has been replaced, and later moves the regions back, leaves
 * a right array. The address sanitizer does not know the arrays, because they lie in the memory
 * that memblock manages.
 *
 * Pages without an array are inaccessible while the function runs. In the other pages, and in the
 * static arrays, the unused bytes are random, and are compared after each call.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "random.h"

#define PAGES_OF(bytes) (((bytes) + PAGE_SIZE - 1) / PAGE_SIZE * PAGE_SIZE)

/* Unused bytes, and their content. No two areas have the same content. */
static struct area {
	char *begin;
	size_t size;
	char content[PAGE_SIZE];
} areas[2 * KINDS];

static struct sigaction others;
static bool accessible; /* whether any of these pages is accessible */

static void set(struct area *area, char *begin, size_t size)
{
	area->begin = begin;
	area->size = size;
	memcpy(begin, area->content, size);
}

static void used(void)
{
	wrong("it uses memory that belongs to no array");
}

/* Report an access to a page without an array. The sanitizer reports all others. */
static void refused(int signal, siginfo_t *info, void *context)
{
	const char *address = info->si_addr;

	if (address >= arena && address < arena + ARENA_BYTES + FIRST_BYTES)
		used();
	others.sa_sigaction(signal, info, context);
}

void unused_open(void)
{
	mprotect(arena, model.pages * PAGE_SIZE, PROT_READ | PROT_WRITE);
	accessible = true;
}

void unused_close(void)
{
	if (accessible)
		mprotect(arena, ARENA_BYTES + FIRST_BYTES, PROT_NONE);
	accessible = false;
	for (enum kind kind = MEMORY; kind <= RESERVED; kind++) {
		struct array array = array_of(kind);
		char *begin = (char *)array.regions;
		char *fixed = (char *)static_array(kind);
		size_t bytes = array.max * sizeof(*array.regions);

		if (begin == fixed) {
			set(&areas[kind], fixed + bytes, STATIC_BYTES - bytes);
			areas[KINDS + kind].size = 0;
			continue;
		}
		mprotect(begin, PAGES_OF(bytes), PROT_READ | PROT_WRITE);
		accessible = true;
		set(&areas[kind], fixed, STATIC_BYTES);
		set(&areas[KINDS + kind], begin + bytes,
		    PAGES_OF(bytes) - bytes);
	}
}

void unused_compare(void)
{
	for (unsigned int i = 0; i < 2 * KINDS; i++)
		if (areas[i].size &&
		    memcmp(areas[i].begin, areas[i].content, areas[i].size))
			used();
}

/* Called before and after an array may grow. */
void memblock_array_grows(void);
void memblock_array_grows(void)
{
	if (memblock.current_limit > PAGE_SIZE)
		unused_open();
}

void memblock_array_moved(void);
void memblock_array_moved(void)
{
	if (memblock.current_limit > PAGE_SIZE)
		unused_close();
}

bool unused_prepare(void)
{
	struct sigaction action = { .sa_sigaction = refused,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	for (unsigned int i = 0; i < 2 * KINDS; i++)
		if (getrandom(areas[i].content, PAGE_SIZE, 0) != PAGE_SIZE)
			return false;
	return !sigaction(SIGSEGV, &action, &others);
}
