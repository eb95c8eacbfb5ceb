// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "model.h"

#include <string.h>

void model_clear(struct model *m, unsigned int pages)
{
	memset(m, 0, sizeof(*m));
	m->pages = pages;
}

void model_add(struct model *m, enum kind kind, unsigned int first,
	       unsigned int pages, int node, unsigned int flags)
{
	for (unsigned int i = first; i < first + pages; i++)
		if (!m->page[kind][i].there)
			m->page[kind][i] =
				(struct page_model){ true, node, flags };
}

void model_remove(struct model *m, enum kind kind, unsigned int first,
		  unsigned int pages)
{
	for (unsigned int i = first; i < first + pages; i++)
		m->page[kind][i] = (struct page_model){ false, 0, 0 };
}

void model_flags(struct model *m, enum kind kind, unsigned int first,
		 unsigned int pages, unsigned int set, unsigned int clear)
{
	for (unsigned int i = first; i < first + pages; i++)
		if (m->page[kind][i].there)
			m->page[kind][i].flags =
				(m->page[kind][i].flags | set) & ~clear;
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

unsigned int model_runs(const struct model *m, enum kind kind,
			struct run runs[MOST_PAGES])
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < m->pages; i++) {
		const struct page_model *page = &m->page[kind][i];
		struct run *run = count ? &runs[count - 1] : NULL;

		if (!page->there)
			continue;
		if (run && run->first + run->pages == i &&
		    run->node == page->node && run->flags == page->flags)
			run->pages++;
		else
			runs[count++] =
				(struct run){ i, 1, page->node, page->flags };
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
