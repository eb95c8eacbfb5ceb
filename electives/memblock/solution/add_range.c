// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memblock_add_range() that searches before it inserts: it finds the place, counts the missing
 * pieces among the regions that the range overlaps, and grows before any insertion, so that -ENOMEM
 * leaves the regions as they were. Then it inserts and merges in one pass.
 *
 * You may change the helper functions and add others: only the effect of memblock_add_range() is
 * graded.
 *
 * It is derived from the kernel's function, Copyright (C) 2001 Peter Bergner, and later authors. It
 * replaces that function in mm/memblock.c; FLAGS_DIFFER() stands for code that differs between
 * kernels.
 */

static phys_addr_t __init_memblock memblock_end(struct memblock_type *type,
						unsigned long idx)
{
	return type->regions[idx].base + type->regions[idx].size;
}

/* Return the first region that ends above @base, or the number of regions if none does. */
static unsigned long __init_memblock
memblock_first_above(struct memblock_type *type, phys_addr_t base)
{
	/* task 5 { */
	unsigned long low = 0, high = 0, last = type->cnt - 1;

	/* Most ranges are added in ascending order. */
	if (memblock_end(type, last) <= base)
		return type->cnt;

	/*
	 * Galloping search: double the distance from the front. Regions before @low end at or below
	 * @base.
	 */
	while (memblock_end(type, high) <= base) {
		low = high + 1;
		high = min(2 * high + 1, last);
	}

	/* Binary search: the region at @high and all later ones end above @base. */
	while (low < high) {
		unsigned long mid = (low + high) / 2;

		if (memblock_end(type, mid) > base)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
	/* } task 5, until then: unsigned long idx = 0;

	while (idx < type->cnt && memblock_end(type, idx) <= base)
		idx++;
	return idx; */
}

/*
 * Return the number of pieces of [@base, @end) outside all regions; @idx: the first above @base.
 */
static unsigned long __init_memblock memblock_missing(
	struct memblock_type *type, unsigned long idx, phys_addr_t base,
	phys_addr_t end, int nid, enum memblock_flags flags)
{
	/* task 2 { */
	unsigned long missing = 0;

	for (; idx < type->cnt && type->regions[idx].base < end; idx++) {
		struct memblock_region *rgn = &type->regions[idx];

		if (rgn->base > base) {
#ifdef CONFIG_NUMA
			WARN_ON(nid != memblock_get_region_node(rgn));
#endif
			WARN_ON(FLAGS_DIFFER(flags, rgn));
			missing++;
		}
		base = rgn->base + rgn->size;
	}
	return missing + (base < end);
	/* } task 2, until then: return base < end; */
}

/* Return true if @next begins where @rgn ends and has the same flags and node. */
static bool __init_memblock memblock_goes_on(struct memblock_region *rgn,
					     struct memblock_region *next)
{
	return rgn->base + rgn->size == next->base &&
	       rgn->flags == next->flags &&
	       memblock_get_region_node(rgn) == memblock_get_region_node(next);
}

/*
 * Insert the @missing pieces of [@base, @end) between the regions from @idx on, and merge
 * neighbours. The array has room for them.
 */
static void __init_memblock memblock_fill(struct memblock_type *type,
					  unsigned long idx, phys_addr_t base,
					  phys_addr_t end,
					  unsigned long missing, int nid,
					  enum memblock_flags flags)
{
	/* task 1 { */
	struct memblock_region *to = &type->regions[idx];
	struct memblock_region *from = to + missing;
	struct memblock_region *last = &type->regions[type->cnt] + missing;

	/*
	 * Move the gap up through the array. @to never passes @from: each inserted piece uses one
	 * free entry of the gap, each merge frees one.
	 */
	memmove(from, to, (type->cnt - idx) * sizeof(*to));

	/* The region that begins where the range ends may need to be merged, too. */
	while (base < end || (from < last && from->base == end)) {
		struct memblock_region next;

		if (from < last && from->base <= base) {
			next = *from++;
		} else {
			next = (struct memblock_region){ .base = base,
							 .flags = flags };
			memblock_set_region_node(&next, nid);
			next.size = (from < last ? min(from->base, end) : end) -
				    base;
			type->total_size += next.size;
		}
		base = next.base + next.size;
		if (to > type->regions && memblock_goes_on(to - 1, &next))
			to[-1].size += next.size;
		else
			*to++ = next;
	}

	if (to < from)
		memmove(to, from, (last - from) * sizeof(*to));
	type->cnt = last - (from - to) - type->regions;
	/* } task 1 */
}

static int __init_memblock memblock_add_range(struct memblock_type *type,
					      phys_addr_t base,
					      phys_addr_t size, int nid,
					      enum memblock_flags flags)
{
	phys_addr_t end = base + memblock_cap_size(base, &size);
	unsigned long idx, missing;

	if (!size)
		return 0;

	/* special case for empty array */
	if (type->regions[0].size == 0) {
		type->regions[0].base = base;
		type->regions[0].size = size;
		type->regions[0].flags = flags;
		memblock_set_region_node(&type->regions[0], nid);
		type->total_size = size;
		type->cnt = 1;
		return 0;
	}

repeat:
	idx = memblock_first_above(type, base);
	missing = memblock_missing(type, idx, base, end, nid, flags);
	if (!missing)
		return 0;

	if (type->cnt + missing > type->max) {
		/* task 3 { */
		while (type->cnt + missing > type->max)
			if (memblock_double_array(type, base, size) < 0)
				return -ENOMEM;
		/* } task 3, until then: return -ENOMEM; */
		/* task 4 { */
		/*
		 * Growing has called this function to reserve the new array, and has freed the old
		 * one: idx and missing are no longer valid.
		 */
		goto repeat;
		/* } task 4 */
	}

	memblock_fill(type, idx, base, end, missing, nid, flags);
	return 0;
}
