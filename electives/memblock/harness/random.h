/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that the parts of the random test share. */
#ifndef RANDOM_H
#define RANDOM_H

#include <linux/memblock.h>

#include "model.h"

/*
 * Number of pages of memory that no operation changes: in mode b at the low end, otherwise at the
 * high end. They have space for two arrays of at most 4 pages, for the arrays that these replaced,
 * and for an array that doubles twice.
 */
#define HOME 32u

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
extern char *arena; /* address of page 0 of the model */
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

/* Choose the next operation, and store it in op. Return its number, or -1 to skip it. */
int choose(void);
int perform(enum operations what);
void perform_on_model(enum operations what);

/*
 * Return the address of a model page, or the size of several pages in bytes. In mode y, two model
 * pages make one page of memblock: its first byte, and the rest. Without mode g, a page of memblock
 * has 4 GiB, and the address of page 0 is 0.
 */
phys_addr_t address(unsigned int page);
phys_addr_t bytes(unsigned int first, unsigned int pages);

/* A range as text, with its ends relative to the arena, in the unit of the mode. */
struct span {
	char text[48];
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
/* Allow accesses to the memory behind the arrays, before memblock begins again. */
void guards_release(void);
/* Check the memory of a new array, and reserve it in the model. */
void follow(enum kind kind, struct array before);

#endif
