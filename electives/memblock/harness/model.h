/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A model of memblock that keeps the state of each page. It has no regions and no arrays that grow,
 * and uses no kernel code. An operation on a range changes each of its pages.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>

/* The number of pages, and the largest number in modes m and h of the random test. */
#define PAGES 512u
#define MOST_PAGES (1u << 19)
#define KINDS 2u

enum kind { MEMORY, RESERVED };

/* Pages are compared as bytes, so there must be no padding. */
struct page_model {
	int node;
	unsigned short flags, there;
};

_Static_assert(sizeof(struct page_model) ==
		       sizeof(int) + 2 * sizeof(unsigned short),
	       "no padding");

/* A run of consecutive pages with equal node and flags. */
struct run {
	unsigned int first, pages;
	int node;
	unsigned int flags;
};

struct model {
	unsigned int pages;
	struct page_model page[KINDS][MOST_PAGES];
};

/* Begin with this number of pages, none of which is present. */
void model_clear(struct model *m, unsigned int pages);
/* Add pages; pages that are already present do not change. */
void model_add(struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages, int node, unsigned int flags);
void model_remove(struct model *m, enum kind kind, unsigned int first,
		  unsigned int pages);
/* Set and clear flags of the pages that are present. */
void model_flags(struct model *m, enum kind kind, unsigned int first,
		 unsigned int pages, unsigned int set, unsigned int clear);
void model_node(struct model *m, enum kind kind, unsigned int first,
		unsigned int pages, int node);
/* Return the number of runs of missing pages in a range. */
unsigned int model_missing(const struct model *m, enum kind kind,
			   unsigned int first, unsigned int pages);
/* Store all runs, in order, unless @runs is NULL. Return their number. */
unsigned int model_runs(const struct model *m, enum kind kind,
			struct run runs[MOST_PAGES]);
/* Return true if any page (model_any) or every page (model_all) of a range is present. */
bool model_any(const struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages);
bool model_all(const struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages);
/*
 * Return true if @pages free pages of memory begin at a multiple of @align, between @first and
 * @end. They have one node and equal flags, and none of the flags @unusable.
 */
bool model_room(const struct model *m, unsigned int first, unsigned int end,
		unsigned int pages, unsigned int align, unsigned int unusable);

#endif
