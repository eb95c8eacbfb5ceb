/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What memblock should hold, kept page by page: no regions, no arrays that grow, nothing of the
 * kernel's. What a range does is said of each of its pages.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>

#define PAGES 512u
#define KINDS 2u

enum kind { MEMORY, RESERVED };

struct page_model {
	bool there;
	int node;
	unsigned int flags;
};

/* As many pages, one after the other, of one kind. */
struct run {
	unsigned int first, pages;
	int node;
	unsigned int flags;
};

struct model {
	struct page_model page[KINDS][PAGES];
};

void model_clear(struct model *m);
/* Pages that are there stay as they are. */
void model_add(struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages, int node, unsigned int flags);
void model_remove(struct model *m, enum kind kind, unsigned int first,
		  unsigned int pages);
/* Of the pages that are there: bits set, bits cleared. */
void model_flags(struct model *m, enum kind kind, unsigned int first,
		 unsigned int pages, unsigned int set, unsigned int clear);
void model_node(struct model *m, enum kind kind, unsigned int first,
		unsigned int pages, int node);
/* How many runs of pages of a range are not there. */
unsigned int model_missing(const struct model *m, enum kind kind,
			   unsigned int first, unsigned int pages);
/* All runs, in order; returns how many. */
unsigned int model_runs(const struct model *m, enum kind kind,
			struct run runs[PAGES]);
/* Whether any page of a range is there, and whether all are. */
bool model_any(const struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages);
bool model_all(const struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages);

#endif
