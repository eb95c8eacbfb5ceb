/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the random test share. */
#ifndef RANDOM_H
#define RANDOM_H

#include <linux/memblock.h>

#include "model.h"

/*
 * Memory at the low end that operations leave alone: two arrays of at most 4 pages, the places
 * they have just left, and those of an array that doubles twice, find room there. Where no array
 * is to be below, the same at the high end.
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
extern struct operation op; /* the one that is being tried */
extern struct memblock initial; /* as memblock was when the program began */
extern char *arena; /* page 0 of the model */
/* With which node and flags this kernel reserves: for its caller, and for an array. */
extern struct page_model plain_reserved, reserved_array;
extern unsigned long below, above; /* new arrays, by where they were put */

bool may(char what);
unsigned int pick(unsigned int less_than);
/* Says what is wrong with the operation, and ends. */
__attribute__((noreturn, format(printf, 1, 2))) void wrong(const char *format,
							   ...);

/* The next operation, into op; what it does, or -1 when it may not be done. */
int choose(void);
int perform(enum operations what);
void perform_on_model(enum operations what);

/*
 * Where a page of the model begins, and how many bytes so many have. In mode y two of
 * them are one of memblock's: its first byte, and the others.
 */
phys_addr_t address(unsigned int page);
phys_addr_t bytes(unsigned int first, unsigned int pages);

/* A range in words, its ends counted from the arena's begin in the unit of the mode. */
struct span {
	char text[48];
};

struct span span(phys_addr_t base, phys_addr_t size);
struct span span_of(unsigned int first, unsigned int pages);
const char *unit(void);

struct memblock_type *type_of(enum kind kind);
struct array array_of(enum kind kind);
/* The pages that an array takes; false while it is the one it began with. */
bool place_of(enum kind kind, struct array array, unsigned int *first,
	      unsigned int *pages);
/* What memblock holds is what the model holds, region by region. */
void compare(enum kind kind);
/* A new array lies where it may; the model has it. */
void follow(enum kind kind, struct array before);

#endif
