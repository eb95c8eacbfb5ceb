// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random operations on memblock, each compared with the model: which regions there are, in order,
 * all merged, with their nodes and flags; their number and total; where a new array lies; what is
 * left when it cannot grow.
 *
 *   random SEED SEEDS OPERATIONS MODE
 *
 * MODE has a letter for each thing that may happen: o ranges overlap, g arrays grow, b the new
 * array is below as well as above, f there is no room for it, x regions are removed, freed, marked
 * and given to nodes. i allows what is wrong otherwise: a new array inside the range being added.
 * Ends with 0 and a line of counts, or with 1 and a line that says what is wrong.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/memblock.h>

#include "model.h"

/* mm.h of the tests has these; a page of the model is one of memblock's. */
_Static_assert(PAGE_SIZE == 4096,
	       "the arrays are counted in pages of 4096 bytes");

/*
 * Memory at the low end that operations leave alone: two arrays of at most 4 pages, the places
 * they have just left, and those of an array that doubles twice, find room there.
 */
#define HOME 32u
#define STATIC_REGIONS 128u

struct operation {
	const char *name;
	enum kind kind;
	unsigned int first, pages, flags;
	int node;
};

struct array {
	struct memblock_region *regions;
	unsigned long cnt, max;
};

static struct model model;
static struct memblock initial;
static struct page_model plain_reserved, reserved_array;
/* What the tests define for memblock. */
bool movable_node_enabled;
static char *arena;
static const char *mode;
static FILE *said; /* memblock's own words go to stdout and stderr: nowhere */
static unsigned long seed, number;
static bool failed;
static uint64_t state;
static struct operation op;
enum counted { GREW_BELOW, GREW_ABOVE, FAILED, ADDED, OTHERS };
static unsigned long counts[OTHERS + 1];

static bool may(char what)
{
	return strchr(mode, what) != NULL;
}

/* xorshift64*: the same on every computer. */
static unsigned int pick(unsigned int below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned int)((state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static phys_addr_t address(unsigned int page)
{
	return (phys_addr_t)(uintptr_t)arena + (phys_addr_t)page * PAGE_SIZE;
}

static void where(void)
{
	fprintf(said, "seed %lu, operation %lu: %s of pages %u to %u%s: ", seed,
		number, op.name, op.first, op.first + op.pages - 1,
		failed ? " returns -ENOMEM" : "");
}

__attribute__((noreturn, format(printf, 1, 2))) static void
wrong(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	where();
	vfprintf(said, format, list);
	va_end(list);
	fputc('\n', said);
	fflush(said);
	_exit(1);
}

/* BUG_ON is an assertion in the kernel's tests. */
static void aborted(int signal)
{
	(void)signal;
	wrong("BUG_ON, an assertion of memblock's own");
}

static struct memblock_type *type_of(enum kind kind)
{
	return kind == MEMORY ? &memblock.memory : &memblock.reserved;
}

static int node_of(struct memblock_region *region)
{
	return memblock_get_region_node(region);
}

static struct array array_of(enum kind kind)
{
	struct memblock_type *type = type_of(kind);

	return (struct array){ type->regions, type->cnt, type->max };
}

/* The pages that an array takes: none while it is the one it began with. */
static bool place_of(enum kind kind, struct array array, unsigned int *first,
		     unsigned int *pages)
{
	struct memblock_type *was =
		kind == MEMORY ? &initial.memory : &initial.reserved;

	if (array.regions == was->regions)
		return false;
	*first = (unsigned int)(((char *)array.regions - arena) /
				(long)PAGE_SIZE);
	*pages = (unsigned int)(PAGE_ALIGN(array.max * sizeof(*array.regions)) /
				PAGE_SIZE);
	return true;
}

/* What memblock holds is what the model holds, region by region. */
static void compare(enum kind kind)
{
	static struct run runs[PAGES];
	struct memblock_type *type = type_of(kind);
	unsigned int count = model_runs(&model, kind, runs);
	bool empty = type->regions[0].size == 0;
	phys_addr_t total = 0;

	for (unsigned int i = 0; i < count && i < type->cnt && !empty; i++) {
		struct memblock_region *region = &type->regions[i];
		struct run *run = &runs[i];

		total += region->size;
		if (region->base != address(run->first) ||
		    region->size != (phys_addr_t)run->pages * PAGE_SIZE)
			wrong("%s region %u is pages %ld to %ld, expected %u to %u",
			      type->name, i,
			      ((long)region->base - (long)address(0)) /
				      (long)PAGE_SIZE,
			      ((long)region->base + (long)region->size -
			       (long)address(0)) /
					      (long)PAGE_SIZE -
				      1,
			      run->first, run->first + run->pages - 1);
		if (region->flags != run->flags || node_of(region) != run->node)
			wrong("%s region %u: flags %x of node %d, expected %x of %d",
			      type->name, i, (unsigned int)region->flags,
			      node_of(region), run->flags, run->node);
	}
	if ((empty ? 0 : type->cnt) != count)
		wrong("%lu %s regions, expected %u",
		      empty ? 0 : (unsigned long)type->cnt, type->name, count);
	if (type->total_size != total)
		wrong("the total of %s is %llu pages, expected %llu",
		      type->name,
		      (unsigned long long)(type->total_size / PAGE_SIZE),
		      (unsigned long long)(total / PAGE_SIZE));
	if (type->cnt > type->max)
		wrong("%lu %s regions in an array for %lu",
		      (unsigned long)type->cnt, type->name,
		      (unsigned long)type->max);
}

/* A new array lies in memory that was there, not reserved, and not in the range being reserved. */
static void follow(enum kind kind, struct array before)
{
	struct array now = array_of(kind);
	unsigned int first, pages;

	if (now.regions == before.regions)
		return;
	if (place_of(kind, before, &first, &pages))
		model_remove(&model, RESERVED, first, pages);
	if (!place_of(kind, now, &first, &pages) || first + pages > PAGES)
		wrong("the %s array is at %p, outside of all memory",
		      type_of(kind)->name, (void *)now.regions);
	counts[first < op.first ? GREW_BELOW : GREW_ABOVE]++;
	if (model_any(&model, RESERVED, first, pages))
		wrong("the new %s array lies in pages %u to %u, which are reserved",
		      type_of(kind)->name, first, first + pages - 1);
	if (op.kind == RESERVED && first < op.first + op.pages &&
	    op.first < first + pages)
		wrong("the new %s array lies in the range, at page %u",
		      type_of(kind)->name, first);
	if (!model_all(&model, MEMORY, first, pages) && !may('i'))
		wrong("the new %s array lies in pages %u to %u, which were not there before",
		      type_of(kind)->name, first, first + pages - 1);
	model_add(&model, RESERVED, first, pages, reserved_array.node,
		  reserved_array.flags);
}

enum operations { ADD, RESERVE, REMOVE, FREE, MARK, CLEAR, NODE };
static const char *const names[] = { "add",  "reserve", "remove",  "free",
				     "mark", "clear",	"set node" };

static int perform(enum operations what)
{
	phys_addr_t base = address(op.first), size = op.pages * PAGE_SIZE;

	switch (what) {
	case ADD:
		return memblock_add_node(base, size, op.node,
					 (enum memblock_flags)op.flags);
	case RESERVE:
		return memblock_reserve(base, size);
	case REMOVE:
		return memblock_remove(base, size);
	case FREE:
		return memblock_phys_free(base, size);
	case MARK:
		return memblock_mark_nomap(base, size);
	case CLEAR:
		return memblock_clear_nomap(base, size);
	case NODE:
		return memblock_set_node(base, size, &memblock.memory, op.node);
	}
	return 0;
}

static void perform_on_model(enum operations what)
{
	switch (what) {
	case ADD:
		model_add(&model, MEMORY, op.first, op.pages, op.node,
			  op.flags);
		break;
	case RESERVE:
		model_add(&model, RESERVED, op.first, op.pages,
			  plain_reserved.node, plain_reserved.flags);
		break;
	case REMOVE:
	case FREE:
		model_remove(&model, op.kind, op.first, op.pages);
		break;
	case MARK:
		model_flags(&model, MEMORY, op.first, op.pages, MEMBLOCK_NOMAP,
			    0);
		break;
	case CLEAR:
		model_flags(&model, MEMORY, op.first, op.pages, 0,
			    MEMBLOCK_NOMAP);
		break;
	case NODE:
#ifdef CONFIG_NUMA
		model_node(&model, MEMORY, op.first, op.pages, op.node);
#endif
		break;
	}
}

/* Whether both arrays' places stay reserved: whoever frees them breaks memblock himself. */
static bool spares_arrays(void)
{
	for (enum kind kind = MEMORY; kind <= RESERVED; kind++) {
		unsigned int first, pages;

		if (place_of(kind, array_of(kind), &first, &pages) &&
		    first < op.first + op.pages && op.first < first + pages)
			return false;
	}
	return true;
}

/* The next operation, into op; what it does, or -1 when it may not be done. */
static int choose(void)
{
	static const enum operations others[] = { REMOVE, FREE, MARK, CLEAR,
						  NODE };
	enum operations what = pick(2) ? RESERVE : ADD;
	unsigned int most = pick(8) ? 3 : pick(4) ? 40 : 300;

	if (may('x') && pick(3) == 0)
		what = others[pick(5)];
	op.name = names[what];
	op.kind = what == RESERVE || what == FREE ? RESERVED : MEMORY;
	op.pages = 1 + pick(most);
	op.first = HOME + pick(PAGES - HOME - op.pages);
	op.flags = may('x') && pick(8) == 0 ? MEMBLOCK_HOTPLUG : MEMBLOCK_NONE;
	op.node = 0;
#ifdef CONFIG_NUMA
	op.node = may('x') ? (int)pick(3) : 0;
#else
	if (what == NODE) /* does nothing */
		return -1;
#endif
	if (!may('o') && what <= RESERVE &&
	    model_any(&model, op.kind, op.first, op.pages))
		return -1;
	if (what == FREE && !spares_arrays())
		return -1;
	return (int)what;
}

/*
 * memblock_double_array() frees the old array before it reserves the place of the new one; where
 * that makes the array of reserved regions grow, it may be put into the same place. This is so
 * whatever memblock_add_range() does, so it is not tried.
 */
static bool too_tight(void)
{
	return memblock.reserved.cnt + 4 > memblock.reserved.max;
}

static void step(void)
{
	struct array before[KINDS] = { array_of(MEMORY), array_of(RESERVED) };
	int what = choose(), result;
	unsigned long room;
	bool fits, low = may('f') && pick(4) == 0;

	failed = false;
	if (what < 0)
		return;
	room = what <= RESERVE ?
		       model_missing(&model, op.kind, op.first, op.pages) :
		       2;
	fits = before[op.kind].cnt + room <= before[op.kind].max ||
	       (what <= RESERVE && before[op.kind].regions[0].size == 0);
	if (!fits && !may('g'))
		return;
	if (!fits && op.kind == MEMORY && too_tight())
		return;
	memblock_set_bottom_up(may('b') && pick(2));
	/* A limit below all memory: no array can grow. */
	memblock.current_limit = low ? PAGE_SIZE : MEMBLOCK_ALLOC_ANYWHERE;

	result = perform((enum operations)what);
	counts[what <= RESERVE ? ADDED : OTHERS]++;
	if (result && result != -ENOMEM)
		wrong("returns %d", result);
	if (fits && array_of(op.kind).regions != before[op.kind].regions)
		wrong("the array grows from %lu though there is room",
		      before[op.kind].max);
	if (result && fits)
		wrong("returns -ENOMEM though there is room in the array");
	if (result && !low)
		wrong("returns -ENOMEM though there is room for a new array");
	if (!result && !fits && low)
		wrong("returns 0 though the array cannot grow");
	follow(MEMORY, before[MEMORY]);
	follow(RESERVED, before[RESERVED]);
	if (result) {
		failed = true;
		counts[FAILED]++;
	} else {
		perform_on_model((enum operations)what);
	}
	compare(MEMORY);
	compare(RESERVED);
}

static void begin(void)
{
	memset(initial.memory.regions, 0,
	       STATIC_REGIONS * sizeof(struct memblock_region));
	memset(initial.reserved.regions, 0,
	       STATIC_REGIONS * sizeof(struct memblock_region));
	memblock = initial;
	model_clear(&model);
	op = (struct operation){ "home", MEMORY, 0, HOME, MEMBLOCK_NONE, 0 };
	memblock_add_node(address(0), HOME * PAGE_SIZE, 0, MEMBLOCK_NONE);
	model_add(&model, MEMORY, 0, HOME, 0, MEMBLOCK_NONE);
	if (may('g')) {
		memblock.memory.max = 4u << pick(4);
		memblock.reserved.max = 4u << pick(4);
	}
}

/* With which node and flags this kernel reserves: for its caller, and for an array. */
static void ask_attributes(void)
{
	struct memblock_type *type = &memblock.reserved;
	struct memblock_region *region = type->regions;

	begin();
	type->max = 4;
	memblock_reserve(address(PAGES - 1), PAGE_SIZE);
	plain_reserved = (struct page_model){ true, node_of(region),
					      (unsigned int)region->flags };
	for (unsigned int i = 2; type->regions == region; i++)
		memblock_reserve(address(PAGES - 1 - 2 * i), PAGE_SIZE);
	for (region = type->regions; region->base + region->size <=
				     (phys_addr_t)(uintptr_t)type->regions;
	     region++)
		;
	reserved_array = (struct page_model){ true, node_of(region),
					      (unsigned int)region->flags };
}

int main(int argc, char **argv)
{
	unsigned long first, seeds, operations;

	if (argc != 5)
		return 2;
	first = strtoul(argv[1], NULL, 10);
	seeds = strtoul(argv[2], NULL, 10);
	operations = strtoul(argv[3], NULL, 10);
	said = fdopen(dup(STDOUT_FILENO), "w");
	stdout = stderr = fopen("/dev/null", "w");
	arena = aligned_alloc(PAGE_SIZE, PAGES * PAGE_SIZE);
	if (!said || !stdout || !arena)
		return 2;
	signal(SIGABRT, aborted);
	initial = memblock;
	memblock_allow_resize();
	mode = "g";
	ask_attributes();
	mode = argv[4];
	for (seed = first; seed < first + seeds; seed++) {
		state = (seed + 1) * 0x9e3779b97f4a7c15ull;
		begin();
		for (number = 1; number <= operations; number++)
			step();
	}
	fprintf(said,
		"%lu additions, %lu other operations, %lu arrays below, %lu above, %lu failures\n",
		counts[ADDED], counts[OTHERS], counts[GREW_BELOW],
		counts[GREW_ABOVE], counts[FAILED]);
	fflush(said);
	_exit(0);
}
