// SPDX-License-Identifier: GPL-2.0-or-later
/* Choose the operations of the random test, and perform them on memblock and on the model. */
#include "random.h"

static const char *const names[] = { "add",  "reserve", "remove",  "free",
				     "mark", "clear",	"set node" };

/* The most regions that are added so that an array is full. */
#define MOST_FILLED 24

unsigned int surrounding;

int perform(enum operations what)
{
	phys_addr_t base = address(op.first), size = bytes(op.first, op.pages);

	/* A range may be said to end above all addresses. */
	if (size && base + size == PHYS_ADDR_MAX)
		size |= (phys_addr_t)pick(1u << 31) << pick(34);
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
		return memblock_set_node(base, size,
					 op.kind == MEMORY ? &memblock.memory :
							     &memblock.reserved,
					 op.node);
	}
	return 0;
}

void perform_on_model(enum operations what)
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
		model_node(&model, op.kind, op.first, op.pages, op.node);
#endif
		break;
	}
}

/*
 * Sometimes choose a range that covers the array of reserved regions and @reach pages on both sides,
 * because growing frees the array.
 */
static void cover_array(unsigned int reach)
{
	unsigned int first, pages;

	if (!place_of(RESERVED, array_of(RESERVED), &first, &pages) ||
	    first < home + reach || first + pages + reach > model.pages)
		return;
	op.first = first - reach;
	op.pages = pages + 2 * reach;
}

/* Choose a page that is not reserved, and whose neighbours are not, either. */
static bool choose_alone(unsigned int begin, unsigned int end)
{
	for (unsigned int i = 0; i < 64; i++) {
		op.first = begin + 1 + pick(end - begin - 2);
		op.pages = 1;
		if (!model_any(&model, RESERVED, op.first - 1, 3))
			return true;
	}
	return false;
}

/*
 * Choose the next of the calls that surround the array of reserved regions by regions of another node
 * and fill it. Then add a short range over it: the array grows, and its old place is a hole whose
 * pieces merge with no region, so that one place more is needed than before.
 */
static enum operations surround_array(unsigned int begin, unsigned int end)
{
	struct array reserved = array_of(RESERVED);
	unsigned int first, pages;

	if (!place_of(RESERVED, reserved, &first, &pages) || first < home + 3 ||
	    first + pages + 3 > model.pages ||
	    reserved.cnt + MOST_FILLED < reserved.max) {
		surrounding = 0;
		return RESERVE;
	}
	switch (surrounding++) {
	case 0:
		op.first = first - 1;
		op.pages = 1;
		return RESERVE;
	case 1:
		op.first = first + pages;
		op.pages = 1;
		return RESERVE;
	case 2:
		op.first = first - 1;
		op.pages = pages + 2;
		return NODE;
	}
	if (reserved.cnt == reserved.max || !choose_alone(begin, end)) {
		surrounding = 0;
		cover_array(2);
	}
	return RESERVE;
}

/*
 * Return true unless the operation overlaps the memory of an array. Freeing this memory would be an
 * error of the caller, not of memblock.
 */
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

/*
 * Let the range end in the addresses above the arena, or above all addresses. It begins at any page,
 * at the first page @begin, or above the arena.
 */
static void end_above(unsigned int begin)
{
	unsigned int end = model.pages - pick(2);
	unsigned int first[] = { op.first, begin, end - 1 };

	op.first = first[pick(3)];
	op.pages = end - op.first;
}

/* Choose a range across all regions of the longer list, with more than 2^16 missing pieces. */
static enum operations cross_all(unsigned int begin, unsigned int end)
{
	op.first = begin;
	op.pages = end - begin;
	return memblock.memory.cnt > memblock.reserved.cnt ? ADD : RESERVE;
}

int choose(void)
{
	static const enum operations others[] = { REMOVE, FREE, MARK, CLEAR,
						  NODE };
	enum operations what = pick(2) ? RESERVE : ADD;
	unsigned int begin = may('b') ? home : 0;
	unsigned int end = lower_pages() - (may('b') ? 0 : home);
	/* The kernel moves a part of the array for each region that it inserts or removes. */
	unsigned int long_range = may('h') ? 100 : (end - begin) / 2;
	unsigned int most = pick(scarce ? 2 : 8) ? 3 :
			    pick(4)		 ? 40 :
						   long_range;
	bool surround = may('x') && may('o') && may('b') &&
			(surrounding || pick(64) == 0);

	if (may('x') && pick(3) == 0)
		what = others[pick(5)];
	op.pages = what <= RESERVE && pick(16) == 0 ? 0 : 1 + pick(most);
	op.first = begin + pick(end - begin - op.pages + 1);
	if (may('h') && may('o') && pick(4) == 0)
		what = cross_all(begin, end);
	op.kind = what == RESERVE || what == FREE ? RESERVED : MEMORY;
	/* A range across all regions makes a full array double twice. */
	if (scarce && what == RESERVE && pick(4) == 0) {
		op.first = begin;
		op.pages = long_range;
	}
	if (what == RESERVE && may('o') && may('b') && pick(8) == 0)
		cover_array(1 + pick(60));
	if (surround) {
		what = surround_array(begin, end);
		op.kind = RESERVED;
	}
	if (!surround && upper && op.kind == upper_kind &&
	    (what <= RESERVE || what == FREE) && pick(16) == 0)
		end_above(begin);
	op.name = names[what];
	op.flags = MEMBLOCK_NONE;
	if (may('x') && pick(8) == 0)
		op.flags = pick_flags();
	op.node = 0;
#ifdef CONFIG_NUMA
	op.node = may('x') ? pick_node() : 0;
#else
	if (what == NODE) /* has no effect without NUMA */
		return -1;
#endif
	if (!may('o') && what <= RESERVE &&
	    model_any(&model, op.kind, op.first, op.pages))
		return -1;
	if (what == FREE && !spares_arrays())
		return -1;
	return (int)what;
}
