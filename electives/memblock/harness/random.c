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
 * and assigned to nodes, y ranges may also begin and end one byte after the start of a page, so
 * that gaps and overlaps of one byte occur, m each seed begins with many reserved regions. i allows
 * an error: a new array inside the range that is being added.
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

#define STATIC_REGIONS 128u
/* In mode m: the number of regions at the beginning, and the size of their array. */
#define FEWEST_MANY 130u
#define MOST_MANY 500u
#define MANY_REGIONS 1024u
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
char *arena;
struct page_model plain_reserved, reserved_array;
bool allowed[128];
unsigned long below, above;

static FILE *said; /* the test's output; memblock's output is discarded */
static unsigned long seed, number;
static bool failed;
static uint64_t state;
static unsigned long additions, others, failures;
static struct test_record record;
/*
 * The address sanitizer does not instrument this file. It finds an access outside
 * of this array because the array is allocated.
 */
static struct memblock_region *many_regions;

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
	fprintf(said, "seed %lu, operation %lu: %s of %s %s%s: ", seed, number,
		op.name, unit(), span_of(op.first, op.pages).text,
		failed ? " returns -ENOMEM" : "");
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

/* The most reserved regions that arrays need which are allocated in one call. */
#define OF_NEW_ARRAYS 4

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
	if (!fits && op.kind == MEMORY && too_tight())
		return;
	memblock_set_bottom_up(may('b') && pick(2));
	/* If the limit is below all memory, no array can grow. */
	memblock.current_limit = low ? PAGE_SIZE : MEMBLOCK_ALLOC_ANYWHERE;

	/* Other functions of memblock let arrays grow without a notice. */
	if (what > RESERVE)
		guards_release();
	result = perform((enum operations)what);
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
	if (result && !low)
		wrong("returns -ENOMEM though there is room for a new array");
	if (!result && !fits && low)
		wrong("returns 0 though the array cannot grow");
	follow(MEMORY, before[MEMORY]);
	follow(RESERVED, before[RESERVED]);
	/* Reserved regions need more room, because each new array is one of them. */
	if (what <= RESERVE)
		grown_enough(before[op.kind],
			     room + (op.kind == RESERVED ? OF_NEW_ARRAYS : 0));
	if (result) {
		failed = true;
		failures++;
	} else {
		perform_on_model((enum operations)what);
	}
	compare(MEMORY);
	compare(RESERVED);
}

/* Add memory that no operation changes. */
static void add_home(unsigned int first)
{
	op = (struct operation){ "add", MEMORY, first, HOME, 0, 0 };
	memblock_add_node(address(first), bytes(first, HOME), 0, MEMBLOCK_NONE);
	model_add(&model, MEMORY, first, HOME, 0, MEMBLOCK_NONE);
	compare(MEMORY);
}

/*
 * Reserve single pages with gaps of one or two pages. Write the regions
 * directly, because only the operations are tested.
 */
static void reserve_many(void)
{
	struct memblock_type *type = &memblock.reserved;
	unsigned int page = HOME, many;

	many = FEWEST_MANY + pick(MOST_MANY - FEWEST_MANY + 1);
	for (type->cnt = 0; type->cnt < many; type->cnt++) {
		struct memblock_region *region = &type->regions[type->cnt];

		page += 2 + pick(2);
		region->base = address(page);
		region->size = bytes(page, 1);
		region->flags = (enum memblock_flags)plain_reserved.flags;
		memblock_set_region_node(region, plain_reserved.node);
		type->total_size += region->size;
		model_add(&model, RESERVED, page, 1, plain_reserved.node,
			  plain_reserved.flags);
	}
}

static void begin(void)
{
	unsigned int sizes = may('g') ? 4 : 6;

	guards_release();
	initial = at_start;
	memset(initial.memory.regions, 0,
	       STATIC_REGIONS * sizeof(struct memblock_region));
	memset(initial.reserved.regions, 0,
	       STATIC_REGIONS * sizeof(struct memblock_region));
	if (may('m')) {
		memset(many_regions, 0, MANY_REGIONS * sizeof(*many_regions));
		initial.reserved.regions = many_regions;
		initial.reserved.max = MANY_REGIONS;
	}
	memblock = initial;
	model_clear(&model, may('m') ? MOST_PAGES : PAGES);
	number = 0;
	failed = false;
	/* Without mode b, only the memory above all ranges always has room for a new array. */
	add_home(may('b') ? 0 : model.pages - HOME);
	/* Small arrays that cannot grow show whether the missing pieces are counted. */
	memblock.memory.max = 4u << pick(sizes);
	if (may('m'))
		reserve_many();
	else
		memblock.reserved.max = 4u << pick(sizes);
}

/* Return a region's node and flags as a page of the model. */
static struct page_model like(const struct memblock_region *region)
{
	return (struct page_model){ true, memblock_get_region_node(region),
				    (unsigned int)region->flags };
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
	arena = aligned_alloc(PAGE_SIZE, MOST_PAGES * PAGE_SIZE);
	many_regions = calloc(MANY_REGIONS, sizeof(*many_regions));
	if (!said || !stdout || !arena || !many_regions)
		return 2;
	signal(SIGABRT, aborted);
	signal(SIGVTALRM, endless);
	at_start = memblock;
	memblock_allow_resize();
	set_mode("g");
	ask_attributes();
	set_mode(argv[4]);
	if (may('m') && !limit_stack())
		return 2;
	for (seed = first; seed < first + seeds; seed++) {
		state = (seed + 1) * 0x9e3779b97f4a7c15ull;
		setitimer(ITIMER_VIRTUAL,
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
		"%lu additions, %lu other operations, %lu arrays below, %lu above, %lu failures\n",
		additions, others, below, above, failures);
	fprintf(said, TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&record));
	fflush(said);
	_exit(0);
}
