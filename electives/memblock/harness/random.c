// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perform random operations on memblock, and compare each with the model: the
 * regions in order, all merged, with their nodes and flags; their number and
 * total size; the position of a new array; and the state after an array could
 * not grow.
 *
 *   random SEED SEEDS OPERATIONS MODE
 *
 * MODE has a letter for each kind of event: o ranges overlap, g arrays grow, b new arrays are
 * placed below as well as above, f no memory for a new array, x regions are removed, freed, marked
 * and assigned to nodes, and have different flags, y ranges may also begin and end one byte after
 * the start of a page, so that gaps and overlaps of one byte occur, and end above all addresses
 * although arrays grow, m each seed begins with many regions, and h, which requires m, with more
 * than an index of 16 bits can count. i allows an error: a new array inside the range that is being
 * added.
 *
 * Read a nonce from stdin. Exit with 0 after a line of counts and a record of the checks, or with 1
 * after a line that describes the error.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "random.h"
#include "test_record.h"

/* PAGE_SIZE comes from mm.h of the tests; a page of the model is a page of memblock. */
_Static_assert(PAGE_SIZE == 4096,
	       "the arrays are counted in pages of 4096 bytes");

/*
 * In mode m: the largest number of regions at the beginning. The numbers are those of the arrays
 * in which instructions are counted, see points.py.
 */
#define MOST_MANY 8000u
#define FEW_MANY 60u
/*
 * In mode h: the smallest number of regions at the beginning. At least two of three have a gap
 * before them, so more than 2^16 pieces are missing between them.
 */
#define LEAST_HUGE 100000u
/* The size of the kernel's stack. */
#define STACK_BYTES (16ul << 10)
/* The limit of processor time for the operations of a seed, which take milliseconds. */
#define SECONDS 5

/* memblock.c needs this variable, which the tests define as well. */
bool movable_node_enabled;

struct model model;
struct operation op;
struct memblock initial;
static struct memblock at_start;
unsigned int home = HOME, upper;
enum kind upper_kind;
char *arena, *first_arrays;
struct page_model plain_reserved, reserved_array;
bool allowed[128];
unsigned long below, above;

static FILE *said; /* the test's output; memblock's output is discarded */
static unsigned long seed, number;
static bool failed;
static int nodes[3]; /* see draw_nodes() */
static uint64_t state;
static unsigned long additions, others, failures, late;
static struct test_record record;
bool scarce;

static void set_mode(const char *letters)
{
	memset(allowed, 0, sizeof(allowed));
	for (; *letters; letters++)
		allowed[*letters & 127] = true;
}

/* xorshift64*, which gives the same numbers on every computer. */
unsigned int pick(unsigned int less_than)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (unsigned int)((state * 0x2545f4914f6cdd1dull) >> 33) %
	       less_than;
}

static void where(void)
{
	fprintf(said, "seed %lu, operation %lu: %s of ", seed, number, op.name);
	if (op.pages)
		fprintf(said, "%s %s", unit(),
			span_of(op.first, op.pages).text);
	else
		fprintf(said, "0 bytes before %s %s", unit(),
			span_of(op.first, 1).text);
	fprintf(said, "%s: ", failed ? " returns -ENOMEM" : "");
}

void wrong(const char *format, ...)
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

/* In the kernel's tests, BUG_ON() is an assertion, which aborts. */
static void aborted(int signal)
{
	(void)signal;
	wrong("BUG_ON: an assertion in memblock fails");
}

static void endless(int signal)
{
	(void)signal;
	wrong("no end after %d seconds", SECONDS);
}

/*
 * Return true if the array of reserved regions may grow during the growth of
 * the other array. memblock_double_array() frees the old array before it
 * reserves the new one; if this makes the array of reserved regions grow, that
 * array may be put at the same address. This does not depend on
 * memblock_add_range(), so it is not tested.
 */
static bool too_tight(void)
{
	return memblock.reserved.cnt + 4 > memblock.reserved.max;
}

/*
 * Return true if the range covers the array of reserved regions and reserved pages on both sides of
 * it. If the array grows, its old place is a hole between these pages, and one piece more is missing
 * than before.
 */
static bool leaves_hole(struct array reserved)
{
	unsigned int first, pages;

	return op.kind == RESERVED &&
	       place_of(RESERVED, reserved, &first, &pages) &&
	       op.first < first && first + pages < op.first + op.pages &&
	       model_any(&model, RESERVED, first - 1, 1) &&
	       model_any(&model, RESERVED, first + pages, 1);
}

/* The most reserved regions that arrays need which are allocated in one call. */
#define OF_NEW_ARRAYS 4

/*
 * Return true if the array, once it has grown for @room regions more, may have no room for one
 * region more. The kernel's function does not count the missing pieces again. So if a growth leaves
 * a hole, this function may write behind such an array and stop with BUG_ON(). This rare case is not
 * tested, because the points would depend on the seed.
 */
static bool grows_tightly(struct array before, unsigned long room)
{
	unsigned long regions = before.cnt + room, max = 2 * before.max;

	while (max + OF_NEW_ARRAYS < regions)
		max *= 2;
	return max <= regions + OF_NEW_ARRAYS;
}

/* Check that an array does not double more often than @room more regions need. */
static void grown_enough(struct array before, unsigned long room)
{
	unsigned long enough = before.max, now = array_of(op.kind).max;

	while (enough < before.cnt + room)
		enough *= 2;
	if (now > enough && now > before.max)
		wrong("the array has grown to %lu regions, and %lu are enough",
		      now, enough);
}

/*
 * Return true if the index of the first region above the range may change when the array of
 * reserved regions grows. Only in mode b the function must look for the place again.
 */
static bool needs_search(struct array before)
{
	unsigned int first, pages;

	if (op.kind != RESERVED || may('b'))
		return false;
	if (place_of(RESERVED, before, &first, &pages) &&
	    first < op.first + op.pages)
		return true;
	/* Ranges that end above all addresses may have reserved all memory above. */
	return (scarce || (upper && !room_above(4))) &&
	       model_room(&model, 0, op.first, 1, 1, 0);
}

static void step(void)
{
	struct array before[KINDS] = { array_of(MEMORY), array_of(RESERVED) };
	int what = choose(), result;
	unsigned long room;
	bool fits, low = !may('g') || (may('f') && pick(4) == 0);

	failed = false;
	if (what < 0)
		return;
	room = what <= RESERVE ?
		       model_missing(&model, op.kind, op.first, op.pages) :
		       2;
	fits = before[op.kind].cnt + room <= before[op.kind].max ||
	       (what <= RESERVE && before[op.kind].regions[0].size == 0);
	if (!fits && !may('g') && what > RESERVE)
		return;
	/* The kernel's function moves a part of the array for each piece. */
	if (fits && room > MOST_PIECES)
		return;
	low = low || room > MOST_PIECES;
	if (!fits && op.kind == MEMORY && too_tight())
		return;
	if (!fits && what <= RESERVE && !low &&
	    (needs_search(before[RESERVED]) ||
	     (leaves_hole(before[RESERVED]) &&
	      grows_tightly(before[RESERVED], room))))
		return;
	memblock_set_bottom_up(may('g') && pick(2));
	/* If the limit is below all memory, no array can grow. */
	memblock.current_limit = low ? PAGE_SIZE : MEMBLOCK_ALLOC_ANYWHERE;

	/* Other functions of memblock let arrays grow without a notice. */
	if (what > RESERVE && !fits)
		unused_open();
	result = perform((enum operations)what);
	if (what > RESERVE && !fits)
		unused_close();
	if (what <= RESERVE)
		additions++;
	else
		others++;
	if (result && result != -ENOMEM)
		wrong("returns %d", result);
	if (fits && array_of(op.kind).regions != before[op.kind].regions)
		wrong("the array grows from %lu though there is room",
		      before[op.kind].max);
	if (result && fits)
		wrong("returns -ENOMEM though there is room in the array");
	follow(MEMORY, before[MEMORY]);
	follow(RESERVED, before[RESERVED]);
	unused_compare();
	if (result && !low && can_double())
		wrong("returns -ENOMEM though there is room for a new array");
	/* Reserved regions need more room, because each new array is one of them. */
	if (what <= RESERVE)
		grown_enough(before[op.kind],
			     room + (op.kind == RESERVED ? OF_NEW_ARRAYS : 0));
	if (result) {
		failed = true;
		failures++;
		late += array_of(op.kind).max > before[op.kind].max;
	} else {
		perform_on_model((enum operations)what);
		/* A piece that continues a region needs no place. */
		if (!fits && low &&
		    model_runs(&model, op.kind, NULL) > before[op.kind].max)
			wrong("returns 0 though the array cannot grow");
	}
	compare(MEMORY);
	compare(RESERVED);
}

struct memblock_region *static_array(enum kind kind)
{
	return kind == MEMORY ? at_start.memory.regions :
				at_start.reserved.regions;
}

char *first_array(enum kind kind)
{
	return first_arrays + kind * (FIRST_BYTES / KINDS);
}

/* Append a region. It is written directly, because only the operations are tested. */
static void append(enum kind kind, unsigned int first, unsigned int pages,
		   struct page_model as)
{
	struct memblock_type *type = type_of(kind);
	struct memblock_region *region = &type->regions[type->cnt++];

	region->base = address(first);
	region->size = bytes(first, pages);
	region->flags = (enum memblock_flags)as.flags;
	memblock_set_region_node(region, as.node);
	type->total_size += region->size;
	model_add(&model, kind, first, pages, as.node, as.flags);
}

/*
 * Return one of the flags that are only compared. The bit after MEMBLOCK_NOMAP
 * is MEMBLOCK_DRIVER_MANAGED, which old kernels do not have.
 */
unsigned int pick_flags(void)
{
	static const unsigned int flags[] = { MEMBLOCK_HOTPLUG, MEMBLOCK_MIRROR,
					      MEMBLOCK_NOMAP << 1 };

	return flags[pick(3)];
}

/* Return a node that a caller may pass: the first one, no node by both of its names, or any number. */
static int any_node(void)
{
	switch (pick(4)) {
	case 0:
		return 0;
	case 1:
		return MAX_NUMNODES;
	case 2:
		return NUMA_NO_NODE;
	}
	return (int)(pick(1u << 31) >> pick(31)) ^ -(int)pick(2);
}

/* Draw the nodes of this seed. Two of them differ in one bit only. */
static void draw_nodes(void)
{
	nodes[0] = any_node();
	nodes[1] = (int)((unsigned int)nodes[0] ^ 1u << pick(32));
	nodes[2] = any_node();
}

int pick_node(void)
{
	return nodes[pick(3)];
}

/* Return the node and flags of regions that a caller adds, or sometimes others. */
static struct page_model attributes(enum kind kind)
{
	struct page_model as = { .there = true };

	if (kind == RESERVED)
		as = plain_reserved;
	if (!may('x') || pick(3) == 0)
		return as;
	as.flags = pick_flags();
#ifdef CONFIG_NUMA
	as.node = pick_node();
#endif
	return as;
}

/*
 * Append regions from page @first on, with at most @gap pages between two of them. Return the page
 * after the last one.
 */
static unsigned int append_many(enum kind kind, unsigned int count,
				unsigned int gap, unsigned int first)
{
	struct page_model before = { false };

	for (; count; count--) {
		struct page_model as = attributes(kind);
		unsigned int distance = pick(gap + 1);

		if (!distance && (scarce || !memcmp(&as, &before, sizeof(as))))
			distance = 1;
		append(kind, first + distance, 1, as);
		first += distance + 1;
		before = as;
	}
	return first;
}

/* Return the number of regions of the long list of mode m. */
static unsigned int many(void)
{
	if (may('h'))
		return LEAST_HUGE + pick((MOST_REGIONS - LEAST_HUGE) / 2);
	return pick(4) ? 1 + pick(MOST_MANY >> pick(8)) : FEW_MANY + pick(60);
}

/* Make the two lists of mode m: one of them is long. Return the page after all regions. */
static unsigned int append_lists(unsigned int first)
{
	unsigned int kind = pick(2), page[KINDS];

	page[kind] = append_many(kind, many(), 2, first);
	page[!kind] = append_many(!kind, pick(64), 2, first);
	return page[MEMORY] > page[RESERVED] ? page[MEMORY] : page[RESERVED];
}

/*
 * Add the memory that no operation changes. If memory is scarce, all of it is reserved, except the
 * space for one new array, or for a smaller one, or for several.
 */
static void append_home(unsigned int first, unsigned int most_regions)
{
	unsigned long array = 2 * most_regions * sizeof(struct memblock_region);
	unsigned int least = may('y') ? 2 : 1;
	unsigned int left =
		least * (1 + pick(1 + PAGE_ALIGN(array) / PAGE_SIZE));
	struct page_model as = plain_reserved;

	append(MEMORY, first, home, (struct page_model){ .there = true });
	/* A new array does not merge with a region with other flags, so it takes a place. */
	as.flags = MEMBLOCK_HOTPLUG;
	if (scarce && left < home)
		append(RESERVED, first, home - left, as);
}

/*
 * Let the arrays of mode m have room for one region more, or for up to twice as many. In mode h,
 * the long array of every second seed is nearly full. The other one has room for more regions than
 * the number of missing pieces modulo 2^16, but not for all pieces of a range across all regions.
 */
static void limit_arrays(void)
{
	for (enum kind kind = MEMORY; kind <= RESERVED; kind++) {
		struct memblock_type *type = type_of(kind);
		unsigned int regions = (unsigned int)type->cnt, more;

		if (may('h'))
			more = seed % 2 && regions > 64 ? 1 + pick(4) :
							  30000 + pick(20000);
		else
			more = 1 + pick(pick(2) ? 20 : regions + 3);

		type->max = regions + more < 4 ? 4 : regions + more;
	}
}

static void begin(void)
{
	unsigned int first, end, few, taken, sizes = may('g') ? 4 : 6;
	bool empty[KINDS];

	initial = at_start;
	memset(static_array(MEMORY), 0, STATIC_BYTES);
	memset(static_array(RESERVED), 0, STATIC_BYTES);
	home = !may('g') ? 0 :
	       may('h')	 ? HUGE_HOME :
	       may('m')	 ? LARGE_HOME :
			   HOME;
	first = may('b') ? home : 0;
	if (may('m')) {
		mprotect(first_arrays, FIRST_BYTES, PROT_READ | PROT_WRITE);
		memset(first_array(MEMORY), 0, PAGE_SIZE);
		memset(first_array(RESERVED), 0, PAGE_SIZE);
		initial.memory.regions = (void *)first_array(MEMORY);
		initial.reserved.regions = (void *)first_array(RESERVED);
	}
	memblock = initial;
	memblock.memory.cnt = memblock.reserved.cnt = 0;
	/* In mode m, the memory of the first arrays is above the arena, and is freed. */
	upper = may('y') && may('g') && !may('m') ? UPPER_PAGES : 0;
	upper_kind = upper && pick(2) ? RESERVED : MEMORY;
	model_clear(&model, may('m') ? MOST_PAGES : PAGES + upper);
	place_pages();
	number = 0;
	draw_nodes();
	failed = false;
	surrounding = 0;
	scarce = may('f') && pick(3) == 0;
	/* Without mode b, only the memory above all ranges always has room for a new array. */
	if (may('b'))
		append_home(0, may('m') ? 128 : 16);
	/* Small arrays that cannot grow show whether the missing pieces are counted. */
	memblock.memory.max = 4u << pick(sizes);
	memblock.reserved.max = 4u << pick(sizes);
	/* A range across all regions of a full array makes the array double twice. */
	taken = upper && upper_kind == MEMORY;
	few = may('x') ? (unsigned int)memblock.reserved.max - 1 -
				 (scarce ? taken : pick(3)) :
			 0;
	/* The first region does not touch the memory that no operation changes. */
	end = may('m') ? append_lists(first + 1) :
			 append_many(RESERVED, few,
				     scarce ? 6 : 400 / (few + 1), first + 1);
	if (may('m'))
		model.pages = (end < PAGES ? PAGES : end + 1) + home;
	if (may('g') && !may('b'))
		append_home(lower_pages() - home,
			    may('m') ? (unsigned int)type_of(RESERVED)->cnt :
				       16);
	if (taken)
		append(RESERVED, lower_pages(), upper, plain_reserved);
	empty[MEMORY] = !memblock.memory.cnt;
	empty[RESERVED] = !memblock.reserved.cnt;
	if (may('m'))
		limit_arrays();
	for (enum kind kind = MEMORY; kind <= RESERVED; kind++)
		if (empty[kind])
			type_of(kind)->cnt = kind ? at_start.reserved.cnt :
						    at_start.memory.cnt;
	unused_close();
}

/* Return a region's node and flags as a page of the model. */
static struct page_model like(const struct memblock_region *region)
{
	return (struct page_model){ memblock_get_region_node(region),
				    (unsigned short)region->flags, true };
}

/*
 * Find out the node and flags that this kernel uses for reservations by a
 * caller and for arrays. An unfinished function may not grow the array. Then
 * the node and flags of arrays stay unknown.
 */
static void ask_attributes(void)
{
	struct memblock_type *type = &memblock.reserved;
	const struct memblock_region *old = type->regions;

	begin();
	type->max = 4;
	op = (struct operation){ "reserve", RESERVED, HOME, 1, 0, 0 };
	memblock_reserve(address(HOME), PAGE_SIZE);
	plain_reserved = reserved_array = like(type->regions);
	for (unsigned int i = 1; i < 8 && type->regions == old; i++)
		memblock_reserve(address(HOME + 2 * i), PAGE_SIZE);
	if (type->regions == old)
		return;
	for (unsigned long i = 0; i < type->cnt; i++)
		if (type->regions[i].base ==
		    (phys_addr_t)(uintptr_t)type->regions)
			reserved_array = like(&type->regions[i]);
}

/*
 * Make the memory below STACK_BYTES of free stack inaccessible. The compiler limits each frame, but
 * a recursive function has a frame for each region. Only for mode m, because a report of the
 * address sanitizer takes more of the stack.
 */
static bool limit_stack(void)
{
	uintptr_t end = (uintptr_t)__builtin_frame_address(0) - STACK_BYTES;

	return mmap((void *)((end - STACK_BYTES) & -PAGE_SIZE), STACK_BYTES,
		    PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}

int main(int argc, char **argv)
{
	unsigned long first, seeds, operations;
	char nonce[17] = "";

	if (argc != 5 || read(STDIN_FILENO, nonce, sizeof(nonce)) < 0)
		return 2;
	test_record_begin(&record, nonce);
	memset(nonce, 0, sizeof(nonce));
	first = strtoul(argv[1], NULL, 10);
	seeds = strtoul(argv[2], NULL, 10);
	operations = strtoul(argv[3], NULL, 10);
	said = fdopen(dup(STDOUT_FILENO), "w");
	stdout = stderr = fopen("/dev/null", "w");
	arena = mmap(NULL, ARENA_BYTES + FIRST_BYTES, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	first_arrays = arena + ARENA_BYTES;
	if (!said || !stdout || arena == MAP_FAILED || !unused_prepare())
		return 2;
	signal(SIGABRT, aborted);
	signal(SIGPROF, endless);
	at_start = memblock;
	memblock_allow_resize();
	set_mode("g");
	ask_attributes();
	set_mode(argv[4]);
	if (may('m') && !limit_stack())
		return 2;
	for (seed = first; seed < first + seeds; seed++) {
		state = (seed + 1) * 0x9e3779b97f4a7c15ull;
		setitimer(ITIMER_PROF,
			  &(struct itimerval){ .it_value = { SECONDS, 0 } },
			  NULL);
		begin();
		for (number = 1; number <= operations; number++) {
			step();
			test_record_check(&record,
					  (uint64_t)seed << 32 | number);
		}
	}
	fprintf(said,
		"%lu additions, %lu other operations, %lu arrays below, %lu above, %lu failures, %lu after a growth\n",
		additions, others, below, above, failures, late);
	fprintf(said, TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&record));
	fflush(said);
	_exit(0);
}
