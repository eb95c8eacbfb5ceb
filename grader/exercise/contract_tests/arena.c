// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Allocate blocks in one range of memory, first-fit: a new block goes into the
 * next gap after the last allocated block, or else into the first gap. The list
 * of blocks is sorted by address.
 */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/vmalloc.h>

#include "arena.h"

#define LEAST_BYTES (8 << 20)
/*
 * The arena is this many times as large as needed, because small gaps stay
 * unused.
 */
#define TIMES_AS_LARGE 3

struct place {
	struct list_head list;
	size_t bytes; /* including this header */
} __aligned(16);

static LIST_HEAD(places);
static char *arena, *next;
static size_t arena_bytes;

int arena_reserve(u64 bytes, u64 count, size_t beside)
{
	u64 each = sizeof(struct place) + beside + 16;
	u64 most = TIMES_AS_LARGE * (bytes + count * each);

	most = max_t(u64, most, LEAST_BYTES);
	if (most <= arena_bytes)
		return 0;
	vfree(arena);
	/*
	 * Return an error for a huge size, which the stage has chosen, because
	 * it would exhaust the machine's memory.
	 */
	arena = __vmalloc(most, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	arena_bytes = arena ? most : 0;
	return arena ? 0 : -ENOMEM;
}

void arena_destroy(void)
{
	vfree(arena);
}

void arena_begin(void)
{
	next = arena;
}

/*
 * Return the first gap of at least @bytes bytes at or after @from; NULL if
 * there is none. Set *@behind to the list entry before the gap.
 */
static struct place *find(size_t bytes, char *from, struct list_head **behind)
{
	struct place *place;

	*behind = &places;
	list_for_each_entry(place, &places, list) {
		/* cppcheck-suppress uninitvar */
		if ((char *)place >= from + bytes)
			return (struct place *)from;
		from = max(from, (char *)place + place->bytes);
		*behind = &place->list;
	}
	return arena + arena_bytes >= from + bytes ? (struct place *)from :
						     NULL;
}

void *arena_get(size_t bytes)
{
	size_t whole = ALIGN(sizeof(struct place) + bytes, 16);
	struct list_head *behind;
	struct place *place;

	if (whole > arena_bytes)
		return NULL;
	place = find(whole, next, &behind) ?: find(whole, arena, &behind);
	if (!place)
		return NULL;
	place->bytes = whole;
	list_add(&place->list, behind);
	next = (char *)place + whole;
	return place + 1;
}

void arena_put(void *block)
{
	list_del(&((struct place *)block - 1)->list);
}
