/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the parts of the random test share. */
#ifndef RANDOM_H
#define RANDOM_H

#include <linux/memblock.h>

#include "model.h"

/*
 * Number of pages of memory that no operation changes: in mode b at the low end, otherwise at the
 * high end. They have space for two arrays, for the arrays that these replaced, and for an array
 * that doubles twice. The other numbers are for the arrays of modes m and h.
 */
#define HOME 32u
#define LARGE_HOME 400u
#define HUGE_HOME 16384u
/*
 * In mode y, if arrays grow, the last pages of the model are all addresses above the arena. They are
 * reserved before the first operation, or never become memory, so that no array is put there.
 */
#define UPPER_PAGES 2u
/* In mode h: a range with this many missing pieces is added only while the array cannot grow. */
#define MOST_PIECES 50000u
/* The kernel's static arrays. */
#define STATIC_REGIONS 128u
#define STATIC_BYTES (STATIC_REGIONS * sizeof(struct memblock_region))
/* The most regions at the beginning of a seed, in mode h, and a few more. */
#define MOST_REGIONS (1ul << 17)
/* The memory that memblock manages, and that of the arrays with which mode m begins. */
#define ARENA_BYTES (MOST_PAGES * PAGE_SIZE)
#define FIRST_BYTES \
	(KINDS * 2ul * MOST_REGIONS * sizeof(struct memblock_region))

struct operation {
	const char *name;
	enum kind kind;
	unsigned int first, pages, flags;
	int node;
};

enum operations { ADD, RESERVE, REMOVE, FREE, MARK, CLEAR, NODE };

struct array {
	struct memblock_region *regions;
	unsigned long cnt, max;
};

extern struct model model;
extern struct operation op; /* the operation that is being tested */
extern struct memblock
	initial; /* the state of memblock at the beginning of a seed */
extern bool scarce; /* true if new arrays have little memory in this seed */
extern unsigned int
	home; /* HOME, LARGE_HOME or HUGE_HOME; 0 if no array grows */
extern unsigned int upper; /* UPPER_PAGES, or 0 if no page is above the arena */
extern enum kind upper_kind; /* the list to which upper pages may be added */
extern char *arena; /* address of page 0 of the model */
extern char *first_arrays;
/* Node and flags that this kernel gives to reservations by a caller, and to those of arrays. */
extern struct page_model plain_reserved, reserved_array;
extern unsigned long below,
	above; /* number of new arrays below and above the range */

/* The kinds of events that the mode allows, by their letters. */
extern bool allowed[128];

static inline bool may(char what)
{
	return allowed[(int)what];
}

unsigned int pick(unsigned int less_than);
/* Print the failure of the operation, and exit with 1. */
__attribute__((noreturn, format(printf, 1, 2))) void wrong(const char *format,
							   ...);

/* Choose flags and a node that are only compared. */
unsigned int pick_flags(void);
int pick_node(void);

/* The number of calls made by surround_array(), or 0 if it is not under way. */
extern unsigned int surrounding;

/* Choose the next operation, and store it in op. Return its number, or -1 to skip it. */
int choose(void);
int perform(enum operations what);
void perform_on_model(enum operations what);

/* The pages of the model that have the size of a page. */
static inline unsigned int lower_pages(void)
{
	return model.pages - upper;
}

/*
 * Choose the address of page 0, and where the upper pages meet. Without mode g, a page of memblock
 * has 4 GiB, and the pages are at both sides of a power of two, up to 2^64, or begin at 0.
 */
void place_pages(void);

/*
 * Return the address of a model page, or the size of several pages in bytes. In mode y, two model
 * pages make one page of memblock: its first byte, and the rest. No range contains the largest
 * address, so a page that ends there is one byte shorter.
 */
phys_addr_t address(unsigned int page);
phys_addr_t bytes(unsigned int first, unsigned int pages);

/* A range as text, with its ends relative to the arena, in the unit of the mode. */
struct span {
	char text[56];
};

struct span span(phys_addr_t base, phys_addr_t size);
struct span span_of(unsigned int first, unsigned int pages);
const char *unit(void);

struct memblock_type *type_of(enum kind kind);
struct array array_of(enum kind kind);
/* Find the pages that contain an array. Return false for the initial, static array. */
bool place_of(enum kind kind, struct array array, unsigned int *first,
	      unsigned int *pages);
/* Check that memblock's regions are equal to the model's. */
void compare(enum kind kind);
/* Return the kernel's static array, and the memory of the array with which mode m begins. */
struct memblock_region *static_array(enum kind kind);
char *first_array(enum kind kind);
/* Return true if an array with this many times as many regions has room above the range. */
bool room_above(unsigned int times);
/* Return true if the array of the operation's kind can double. */
bool can_double(void);
/* Check the memory of a new array, and reserve it in the model. */
void follow(enum kind kind, struct array before);

/* Prepare the following checks. Return false if this is not possible. */
bool unused_prepare(void);
/* Allow accesses to all memory, and refuse those to memory that no array uses. */
void unused_open(void);
void unused_close(void);
/* Check that no memory has changed that no array uses. */
void unused_compare(void);

#endif
