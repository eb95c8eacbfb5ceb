// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "model.h"

#include <string.h>

void model_clear(struct model *m, unsigned int pages)
{
	m->pages = pages;
	for (enum kind kind = MEMORY; kind <= RESERVED; kind++)
		memset(m->page[kind], 0, pages * sizeof(*m->page[kind]));
}

void model_add(struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages, int node, unsigned int flags)
{
	struct page_model as = { node, (unsigned short)flags, true };

	for (unsigned int i = first; i < first + pages; i++)
		if (!m->page[kind][i].there)
			m->page[kind][i] = as;
}

void model_remove(struct model *m, enum kind kind, unsigned int first,
		  unsigned int pages)
{
	for (unsigned int i = first; i < first + pages; i++)
		m->page[kind][i] = (struct page_model){ 0 };
}

void model_flags(struct model *m, enum kind kind, unsigned int first,
		 unsigned int pages, unsigned int set, unsigned int clear)
{
	for (unsigned int i = first; i < first + pages; i++)
		if (m->page[kind][i].there)
			m->page[kind][i].flags =
				(unsigned short)((m->page[kind][i].flags |
						  set) &
						 ~clear);
}

void model_node(struct model *m, enum kind kind, unsigned int first,
		unsigned int pages, int node)
{
	for (unsigned int i = first; i < first + pages; i++)
		if (m->page[kind][i].there)
			m->page[kind][i].node = node;
}

unsigned int model_missing(const struct model *m, enum kind kind,
			   unsigned int first, unsigned int pages)
{
	unsigned int runs = 0;

	for (unsigned int i = first; i < first + pages; i++)
		if (!m->page[kind][i].there &&
		    (i == first || m->page[kind][i - 1].there))
			runs++;
	return runs;
}

/* Return true if pages have the same states as others. */
static bool equal(const struct page_model *one, const struct page_model *other,
		  size_t pages)
{
	return !memcmp(one, other, pages * sizeof(*one));
}

/* Return the first page after @i whose state differs from that of page @i. */
static unsigned int run_end(const struct page_model *pages, unsigned int i,
			    unsigned int end)
{
	i++;
	/* Most runs are long, so compare 8 pages with those before them. */
	while (i + 8 <= end && equal(&pages[i], &pages[i - 1], 8))
		i += 8;
	while (i < end && equal(&pages[i], &pages[i - 1], 1))
		i++;
	return i;
}

unsigned int model_runs(const struct model *m, enum kind kind,
			struct run runs[MOST_PAGES])
{
	const struct page_model *pages = m->page[kind];
	unsigned int count = 0, end;

	for (unsigned int i = 0; i < m->pages; i = end) {
		end = run_end(pages, i, m->pages);
		if (!pages[i].there)
			continue;
		if (runs)
			runs[count] = (struct run){ i, end - i, pages[i].node,
						    pages[i].flags };
		count++;
	}
	return count;
}

bool model_any(const struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages)
{
	for (unsigned int i = first; i < first + pages; i++)
		if (m->page[kind][i].there)
			return true;
	return false;
}

bool model_all(const struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages)
{
	for (unsigned int i = first; i < first + pages; i++)
		if (!m->page[kind][i].there)
			return false;
	return true;
}

bool model_room(const struct model *m, unsigned int first, unsigned int end,
		unsigned int pages, unsigned int align, unsigned int unusable)
{
	unsigned int run = 0;

	for (unsigned int i = first; i < end; i++) {
		const struct page_model *page = &m->page[MEMORY][i];

		if (run && (page->node != page[-1].node ||
			    page->flags != page[-1].flags))
			run = 0;
		if (!page->there || page->flags & unusable ||
		    m->page[RESERVED][i].there)
			run = 0;
		else if (run || i % align == 0)
			run++;
		if (run == pages)
			return true;
	}
	return false;
}
