// SPDX-License-Identifier: GPL-2.0-or-later
/* Compare memblock with the model: the regions, and the memory of their arrays. */
#include <stdint.h>
#include <stdio.h>

#include "random.h"

/* Return the number of model pages in a page of memblock. */
static unsigned int parts(void)
{
	return may('y') ? 2 : 1;
}

/*
 * Return the size of a memblock page. If no array grows, memblock stores nothing in the memory that
 * it manages, so the memory need not exist. Pages are then so large that sizes and addresses exceed
 * 32 bits.
 */
static phys_addr_t page_bytes(void)
{
	return may('g') ? PAGE_SIZE : (phys_addr_t)PAGE_SIZE << 20;
}

static phys_addr_t origin; /* the address of page 0 */
static phys_addr_t border; /* where the upper pages meet, see UPPER_PAGES */

void place_pages(void)
{
	unsigned int bits, lower;

	origin = (phys_addr_t)(uintptr_t)arena;
	if (upper)
		border = 1ull << (48 + pick(16));
	if (may('g'))
		return;
	bits = 32 + pick(33);
	lower = bits < 64 ? pick(model.pages + 1) : model.pages;
	origin = (phys_addr_t)(lower / parts()) * page_bytes();
	/* 2^64 is 0 in 64 bits. */
	if (bits == 64)
		origin = -origin;
	else
		origin = 1ull << bits > origin ? (1ull << bits) - origin : 0;
}

phys_addr_t address(unsigned int page)
{
	phys_addr_t offset = page / parts() * page_bytes() + page % parts();

	if (upper && page > lower_pages())
		return page < model.pages ? border : PHYS_ADDR_MAX;
	return offset < PHYS_ADDR_MAX - origin ? origin + offset :
						 PHYS_ADDR_MAX;
}

phys_addr_t bytes(unsigned int first, unsigned int pages)
{
	return address(first + pages) - address(first);
}

struct span span(phys_addr_t base, phys_addr_t size)
{
	long begin = (long)(base - address(0)),
	     end = (long)(base + size - address(0));
	long unit = may('y') ? 1 : (long)page_bytes();
	struct span found;

	if (upper && base + size == PHYS_ADDR_MAX) {
		(void)snprintf(found.text, sizeof(found.text),
			       "%ld to the last address", begin);
		return found;
	}
	/* The last page before the end of all addresses is one byte shorter. */
	(void)snprintf(found.text, sizeof(found.text), "%ld to %ld",
		       begin / unit, (end + unit - 1) / unit - 1);
	return found;
}

struct span span_of(unsigned int first, unsigned int pages)
{
	return span(address(first), bytes(first, pages));
}

const char *unit(void)
{
	return may('y') ? "bytes" : "pages";
}

struct memblock_type *type_of(enum kind kind)
{
	return kind == MEMORY ? &memblock.memory : &memblock.reserved;
}

struct array array_of(enum kind kind)
{
	struct memblock_type *type = type_of(kind);

	return (struct array){ type->regions, type->cnt, type->max };
}

bool place_of(enum kind kind, struct array array, unsigned int *first,
	      unsigned int *pages)
{
	struct memblock_type *was =
		kind == MEMORY ? &initial.memory : &initial.reserved;

	if (array.regions == was->regions)
		return false;
	*first = (unsigned int)(((char *)array.regions - arena) /
				(long)PAGE_SIZE) *
		 parts();
	*pages = (unsigned int)(PAGE_ALIGN(array.max * sizeof(*array.regions)) /
				PAGE_SIZE) *
		 parts();
	return true;
}

/* Return true if an array with this many times as many regions has room in a range of pages. */
static bool room_in(unsigned int first, unsigned int end, unsigned int times)
{
	struct array array = array_of(op.kind);
	unsigned int pages = (unsigned int)(PAGE_ALIGN(times * array.max *
						       sizeof(*array.regions)) /
					    PAGE_SIZE) *
			     parts();
	/* New kernels do not use the memory with the second flag, either. */
	unsigned int unusable = MEMBLOCK_NOMAP | MEMBLOCK_NOMAP << 1;

	return model_room(&model, first, end, pages, parts(), unusable);
}

bool room_above(unsigned int times)
{
	return room_in(op.first + op.pages, model.pages, times);
}

bool can_double(void)
{
	if (op.kind == MEMORY)
		return room_in(0, model.pages, 2);
	return room_above(2) || room_in(0, op.first, 2);
}

void compare(enum kind kind)
{
	static struct run runs[MOST_PAGES];
	struct memblock_type *type = type_of(kind);
	unsigned int count = model_runs(&model, kind, runs);
	bool empty = type->regions[0].size == 0;
	phys_addr_t total = 0;

	for (unsigned int i = 0; i < count && i < type->cnt && !empty; i++) {
		struct memblock_region *region = &type->regions[i];
		struct run *run = &runs[i];

		total += region->size;
		if (region->base != address(run->first) ||
		    region->size != bytes(run->first, run->pages))
			wrong("%s region %u is %s %s, expected %s", type->name,
			      i, unit(), span(region->base, region->size).text,
			      span_of(run->first, run->pages).text);
		if (region->flags != run->flags ||
		    memblock_get_region_node(region) != run->node)
			wrong("%s region %u: flags %x of node %d, expected %x of %d",
			      type->name, i, (unsigned int)region->flags,
			      memblock_get_region_node(region), run->flags,
			      run->node);
	}
	if ((empty ? 0 : type->cnt) != count)
		wrong("%lu %s regions, expected %u",
		      empty ? 0 : (unsigned long)type->cnt, type->name, count);
	if (type->total_size != total)
		wrong("the total of %s is %llu bytes, expected %llu",
		      type->name, (unsigned long long)type->total_size,
		      (unsigned long long)total);
	if (type->cnt > type->max)
		wrong("%lu %s regions in an array for %lu",
		      (unsigned long)type->cnt, type->name,
		      (unsigned long)type->max);
}

/* Check that a new array is in memory that existed, was not reserved, and is not being reserved. */
void follow(enum kind kind, struct array before)
{
	struct array now = array_of(kind);
	unsigned int first, pages;

	if (now.regions == before.regions && now.max == before.max)
		return;
	/*
	 * An array that doubles twice in one call may return to its first place.
	 * While it doubles once, this place is still reserved.
	 */
	if (now.regions == before.regions &&
	    (now.max % (4 * before.max) ||
	     !place_of(kind, now, &first, &pages)))
		wrong("the array is said to have room for %lu regions, but it has room for %lu",
		      now.max, before.max);
	if (place_of(kind, before, &first, &pages))
		model_remove(&model, RESERVED, first, pages);
	if (!place_of(kind, now, &first, &pages) || first + pages > model.pages)
		wrong("the %s array is at %p, outside of all memory",
		      type_of(kind)->name, (void *)now.regions);
	if (first < op.first)
		below++;
	else
		above++;
	if (model_any(&model, RESERVED, first, pages))
		wrong("the new %s array lies in %s %s, which are reserved",
		      type_of(kind)->name, unit(), span_of(first, pages).text);
	if (op.kind == RESERVED && first < op.first + op.pages &&
	    op.first < first + pages)
		wrong("the new %s array lies in the range, at page %u",
		      type_of(kind)->name, first);
	if (!model_all(&model, MEMORY, first, pages) && !may('i'))
		wrong("the new %s array lies in %s %s, which were not there before",
		      type_of(kind)->name, unit(), span_of(first, pages).text);
	model_add(&model, RESERVED, first, pages, reserved_array.node,
		  reserved_array.flags);
}
