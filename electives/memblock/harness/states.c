// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call memblock_reserve() once in each state of the array; callgrind counts the instructions and
 * writes a dump after each call.
 *
 *   states REGIONS[:MIDDLE:FIRST:ACROSS:COVERED]...
 *
 * The numbers after REGIONS are indices of regions, by default in the middle and at the end: a new
 * region is inserted before MIDDLE; a range covers ACROSS regions from FIRST on; and region COVERED
 * is added once more.
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

struct places {
	unsigned long regions, middle, first, across, covered;
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

/* Fill an array with this many regions of equal kind. */
static void arrange(const struct memblock *initial, unsigned long regions)
{
	struct memblock_type *type = &memblock.reserved;

	memblock = *initial;
	if (regions > STATIC_REGIONS) {
		type->regions = many_regions;
		type->max = MOST_REGIONS;
	}
	memset(type->regions, 0, type->max * sizeof(*type->regions));
	memblock_reserve(address(0), PAGE_SIZE);
	for (unsigned long i = 1; i < regions; i++) {
		type->regions[i] = type->regions[0];
		type->regions[i].base = address(i);
	}
	if (!regions) {
		memset(type->regions, 0, sizeof(*type->regions));
		type->cnt = initial->reserved.cnt;
		type->total_size = 0;
		return;
	}
	type->cnt = regions;
	type->total_size = regions * PAGE_SIZE;
}

struct range {
	phys_addr_t begin, end;
};

/*
 * Add [begin, end) to @count ascending ranges with a gap between any two of
 * them. Return their new number.
 */
static unsigned long add(struct range *ranges, unsigned long count,
			 phys_addr_t begin, phys_addr_t end)
{
	unsigned long i = 0, last;

	while (i < count && ranges[i].end < begin)
		i++;
	for (last = i; last < count && ranges[last].begin <= end; last++) {
		if (begin > ranges[last].begin)
			begin = ranges[last].begin;
		if (end < ranges[last].end)
			end = ranges[last].end;
	}
	memmove(&ranges[i + 1], &ranges[last],
		(count - last) * sizeof(*ranges));
	ranges[i] = (struct range){ begin, end };
	return count - (last - i) + 1;
}

/*
 * Return true if the reserved regions are those of arrange(), with [base, base
 * + size) and with the new array, if the call has made the array @before grow.
 */
static bool is_right(const struct memblock_region *before,
		     unsigned long regions, phys_addr_t base, phys_addr_t size)
{
	const struct memblock_type *type = &memblock.reserved;
	struct range expected[MOST_REGIONS + 2];
	phys_addr_t total = 0;
	unsigned long count;

	for (count = 0; count < regions; count++)
		expected[count] = (struct range){ address(count),
						  address(count) + PAGE_SIZE };
	count = add(expected, count, base, base + size);
	if (type->regions != before) {
		phys_addr_t array = (phys_addr_t)(unsigned long)type->regions;

		count = add(
			expected, count, array,
			array + PAGE_ALIGN(type->max * sizeof(*type->regions)));
	}
	for (unsigned long i = 0; i < count && i < type->cnt; i++) {
		const struct memblock_region *region = &type->regions[i];

		if (region->base != expected[i].begin ||
		    region->base + region->size != expected[i].end ||
		    region->flags != type->regions[0].flags)
			return false;
		total += region->size;
	}
	return type->cnt == count && type->total_size == total;
}

static void count(const struct memblock *initial, enum call call,
		  const struct places *at)
{
	unsigned long regions = at->regions;
	phys_addr_t base = 0, size = PAGE_SIZE;
	const struct memblock_region *before;
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
	arrange(initial, regions);
	before = memblock.reserved.regions;
	(void)snprintf(name, sizeof(name), "%s %lu", names[call], regions);
	CALLGRIND_ZERO_STATS;
	if (memblock_reserve(base, size))
		abort();
	CALLGRIND_DUMP_STATS_AT(name);
	if (!is_right(before, regions, base, size))
		abort();
}

/* Parse an argument; missing indices are in the middle and at the end. */
static struct places places(const char *argument)
{
	struct places at = { .across = ACROSS };

	if (sscanf(argument, "%lu:%lu:%lu:%lu:%lu", &at.regions, &at.middle,
		   &at.first, &at.across, &at.covered) != 5) {
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
