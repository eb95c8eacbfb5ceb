// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call memblock_reserve() or memblock_add_node() once in each state of the array; callgrind counts
 * the instructions and writes a dump after each call.
 *
 *   states REGIONS[:MIDDLE:FIRST:ACROSS:COVERED:MEMORY]...
 *
 * The numbers after REGIONS are indices of regions, by default in the middle and at the end: a new
 * region is inserted before MIDDLE; a range covers ACROSS regions from FIRST on; and region COVERED
 * is added once more. With these numbers, about half of the regions have other flags. The regions
 * are those of the memory if MEMORY is 1, otherwise they are reserved.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/callgrind.h>

#include <linux/memblock.h>

/* The capacity of the kernel's static array, and of the array for more regions. */
#define STATIC_REGIONS 128ul
#define MOST_REGIONS 8192ul
#define ACROSS 8ul
/* The additional distance of the regions in one part of the array. */
#define FURTHER_PAGES 4ul
/* Of many regions, the last ones are this far away: an address does not tell where a region is. */
#define FAR_PAGES (1ul << 24)

struct places {
	unsigned long regions, middle, first, across, covered, memory;
	bool mixed; /* whether the regions have different flags */
};

/* memblock.c needs this variable, which the tests define as well. */
bool movable_node_enabled;

/*
 * The memory that memblock manages. It must exist, because memblock stores a new array at its upper
 * end. The regions take its lower part: up to seven pages each.
 */
static char arena[7 * MOST_REGIONS * 4096 + (1 << 22)]
	__attribute__((aligned(4096)));

static struct memblock_region many_regions[MOST_REGIONS];

enum call { APPEND, FRONT, SECOND, MIDDLE, ACROSS_EIGHT, COVERED };
static const char *const names[] = { "append", "front",	 "second",
				     "middle", "across", "covered" };

static phys_addr_t addresses[MOST_REGIONS + 1];

/*
 * Region i of @regions is one page of the arena. Between two regions there are
 * one or two free pages in one part of the array, and five or six in the other,
 * so that a region's index cannot be estimated from its address. The border of
 * the parts is between one and two thirds of the array. @regions determines it,
 * which part comes first, and the distances.
 */
static void place_regions(unsigned long regions)
{
	unsigned long page = 4, random = regions;
	unsigned long border = regions / 3 + regions % (regions / 3 + 1);

	for (unsigned long i = 0; i <= MOST_REGIONS; i++) {
		addresses[i] =
			(phys_addr_t)(unsigned long)arena + page * PAGE_SIZE;
		/* Knuth's linear congruential generator; its high bits are random. */
		random = random * 6364136223846793005 + 1442695040888963407;
		page += 2 + (random >> 63);
		if ((i < border) == regions % 2)
			page += FURTHER_PAGES;
		if (regions >= 1000 && i + 1 + regions / 64 == regions)
			page += FAR_PAGES;
	}
}

static phys_addr_t address(unsigned long i)
{
	return addresses[i];
}

/*
 * Return where @size bytes begin that lie in the gap before region i and touch no region. Their
 * place in the gap differs from gap to gap, so that no neighbour can be found from it.
 */
static phys_addr_t in_gap(unsigned long i, phys_addr_t size)
{
	phys_addr_t low = address(i - 1) + PAGE_SIZE,
		    room = address(i) - low - size;
	unsigned long number = (address(i) - address(0)) / PAGE_SIZE;

	/* One to seven eighths of the room are below, by Knuth's multiplicative hash. */
	return low + room / 8 * (1 + (number * 0x9e3779b97f4a7c15ul >> 32) % 7);
}

static struct memblock_type *type_of(const struct places *at)
{
	return at->memory ? &memblock.memory : &memblock.reserved;
}

/* Add a range to the list, as a caller does. */
static int call_add(const struct places *at, phys_addr_t base, phys_addr_t size)
{
	return at->memory ? memblock_add_node(base, size, 0, MEMBLOCK_NONE) :
			    memblock_reserve(base, size);
}

/* Return the flags of region i; those of a range that is added are @plain. */
static enum memblock_flags flags_of(const struct places *at, unsigned long i,
				    enum memblock_flags plain)
{
	/* Knuth's multiplicative hash, of which a high bit is random. */
	return at->mixed && i * 0x9e3779b97f4a7c15ul >> 63 ? MEMBLOCK_HOTPLUG :
							     plain;
}

/* Fill an array. Return the flags of the ranges that are added. */
static enum memblock_flags arrange(const struct memblock *initial,
				   const struct places *at)
{
	struct memblock_type *type = type_of(at);
	enum memblock_flags plain;

	memblock = *initial;
	if (at->regions > STATIC_REGIONS) {
		type->regions = many_regions;
		type->max = MOST_REGIONS;
	}
	memset(type->regions, 0, type->max * sizeof(*type->regions));
	/* No reserved region is there yet, so this is the number of regions of an empty list. */
	type->cnt = initial->reserved.cnt;
	type->total_size = 0;
	call_add(at, address(0), PAGE_SIZE);
	plain = type->regions[0].flags;
	for (unsigned long i = 0; i < at->regions; i++) {
		type->regions[i] = type->regions[0];
		type->regions[i].base = address(i);
		type->regions[i].flags = flags_of(at, i, plain);
	}
	if (!at->regions) {
		memset(type->regions, 0, sizeof(*type->regions));
		type->cnt = initial->reserved.cnt;
		type->total_size = 0;
		return plain;
	}
	type->cnt = at->regions;
	type->total_size = at->regions * PAGE_SIZE;
	return plain;
}

struct range {
	phys_addr_t begin, end;
	enum memblock_flags flags;
};

static struct range expected[2 * MOST_REGIONS];
static unsigned long expected_count;

/* Append [begin, end) to the expected regions, or to the last of them if it touches. */
static void expect(phys_addr_t begin, phys_addr_t end,
		   enum memblock_flags flags)
{
	struct range *last = &expected[expected_count - 1];

	if (begin >= end)
		return;
	if (expected_count && last->end == begin && last->flags == flags)
		last->end = end;
	else
		expected[expected_count++] =
			(struct range){ begin, end, flags };
}

/*
 * Return true if the regions are those of arrange(), with [base, base + size) and with the new
 * array, if the call has made the array @before grow. The array is above all regions.
 */
static bool is_right(const struct memblock_region *before,
		     const struct places *at, phys_addr_t base,
		     phys_addr_t size, enum memblock_flags plain)
{
	const struct memblock_type *type = type_of(at);
	phys_addr_t end = base + size, total = 0;

	expected_count = 0;
	for (unsigned long i = 0; i < at->regions; i++) {
		phys_addr_t next = address(i) + PAGE_SIZE;

		expect(base, end < address(i) ? end : address(i), plain);
		expect(address(i), next, flags_of(at, i, plain));
		base = base > next ? base : next;
	}
	expect(base, end, plain);
	if (type->regions != before) {
		phys_addr_t array = (phys_addr_t)(unsigned long)type->regions;

		expect(array,
		       array + PAGE_ALIGN(type->max * sizeof(*type->regions)),
		       plain);
	}
	for (unsigned long i = 0; i < expected_count && i < type->cnt; i++) {
		const struct memblock_region *region = &type->regions[i];

		if (region->base != expected[i].begin ||
		    region->base + region->size != expected[i].end ||
		    region->flags != expected[i].flags)
			return false;
		total += region->size;
	}
	return type->cnt == expected_count && type->total_size == total;
}

static void count(const struct memblock *initial, enum call call,
		  const struct places *at)
{
	unsigned long regions = at->regions;
	phys_addr_t base = 0, size = PAGE_SIZE;
	const struct memblock_region *before;
	enum memblock_flags plain;
	char name[40];

	switch (call) {
	case APPEND:
		base = address(regions);
		break;
	case FRONT:
		base = address(0) - 2 * PAGE_SIZE;
		break;
	case SECOND: /* between the first two regions, without touching them */
	case MIDDLE:
		if (regions < 2)
			return;
		size = PAGE_SIZE / 2;
		base = in_gap(call == SECOND ? 1 : at->middle, size);
		break;
	case ACROSS_EIGHT: /* several regions and the gaps around them */
		if (regions < at->across)
			return;
		base = at->first ? in_gap(at->first, PAGE_SIZE / 2) :
				   address(0) - PAGE_SIZE / 2;
		size = address(at->first + at->across) - PAGE_SIZE / 2 - base;
		break;
	case COVERED: /* an existing region, which changes nothing */
		if (!regions)
			return;
		base = address(at->covered);
		break;
	}
	plain = arrange(initial, at);
	before = type_of(at)->regions;
	(void)snprintf(name, sizeof(name), "%s %lu", names[call], regions);
	CALLGRIND_ZERO_STATS;
	if (call_add(at, base, size))
		abort();
	CALLGRIND_DUMP_STATS_AT(name);
	if (!is_right(before, at, base, size, plain))
		abort();
}

/* Parse an argument; missing indices are in the middle and at the end. */
static struct places places(const char *argument)
{
	struct places at = { .across = ACROSS };

	at.mixed = sscanf(argument, "%lu:%lu:%lu:%lu:%lu:%lu", &at.regions,
			  &at.middle, &at.first, &at.across, &at.covered,
			  &at.memory) == 6;
	if (!at.mixed) {
		at.middle = at.regions / 2;
		at.first = (at.regions - ACROSS) / 2;
		at.covered = at.regions - 1;
	}
	return at;
}

int main(int argc, char **argv)
{
	struct memblock initial;

	memblock_allow_resize();
	memblock_add((phys_addr_t)(unsigned long)arena, sizeof(arena));
	initial = memblock;
	for (int i = 1; i < argc; i++) {
		struct places at = places(argv[i]);

		place_regions(at.regions);
		for (enum call call = APPEND; call <= COVERED; call++)
			count(&initial, call, &at);
	}
	return 0;
}
