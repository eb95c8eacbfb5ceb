// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memblock_add_range() with delayed allocation, the idea of a patch that was
 * sent to the kernel's mailing list: insert at once while the array has free
 * entries; when it is full, count the remaining pieces, grow, and continue.
 *
 * It differs from the kernel's function in two ways. If the array cannot grow, the pieces inserted
 * so far stay; and the array of memory regions may be put into the memory that is being added.
 *
 * It is derived from the kernel's function, Copyright (C) 2001 Peter Bergner, and later authors. It
 * replaces that function in mm/memblock.c; MERGE() and FLAGS_DIFFER() stand for code that differs
 * between kernels.
 */
static int __init_memblock memblock_add_range(struct memblock_type *type,
					      phys_addr_t base,
					      phys_addr_t size, int nid,
					      enum memblock_flags flags)
{
	phys_addr_t obase = base;
	phys_addr_t end = base + memblock_cap_size(base, &size);
	int idx, nr_left, start_rgn, end_rgn;

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

	start_rgn = -1;
	end_rgn = 0;

go_on:
	nr_left = 0;

	for (idx = 0; idx < type->cnt; idx++) {
		struct memblock_region *rgn = &type->regions[idx];
		phys_addr_t rbase = rgn->base;
		phys_addr_t rend = rbase + rgn->size;

		if (rbase >= end)
			break;
		if (rend <= base)
			continue;
		/* @rgn overlaps the new area; the part below @rgn is missing */
		if (rbase > base) {
#ifdef CONFIG_NUMA
			WARN_ON(nid != memblock_get_region_node(rgn));
#endif
			WARN_ON(FLAGS_DIFFER(flags, rgn));
			if (!nr_left && type->cnt < type->max) {
				if (start_rgn < 0)
					start_rgn = idx;
				end_rgn = idx + 1;
				memblock_insert_region(type, idx++, base,
						       rbase - base, nid,
						       flags);
			} else {
				nr_left++;
			}
		}
		/* area below @rend is done */
		base = min(rend, end);
	}

	/* the remaining part of the new area */
	if (base < end) {
		if (!nr_left && type->cnt < type->max) {
			if (start_rgn < 0)
				start_rgn = idx;
			end_rgn = idx + 1;
			memblock_insert_region(type, idx, base, end - base, nid,
					       flags);
		} else {
			nr_left++;
		}
	}

	if (nr_left) {
		while (type->cnt + nr_left > type->max)
			if (memblock_double_array(type, obase, size) < 0)
				return -ENOMEM;
		/*
		 * Growing has reserved the new array by a call of this
		 * function, and freed the old one: indices have changed, and
		 * the range may have a new hole below the address at which the
		 * array became full. Pieces that are already inserted are
		 * skipped.
		 */
		base = obase;
		start_rgn = 0;
		goto go_on;
	}

	if (start_rgn >= 0)
		MERGE(type, start_rgn, end_rgn);
	return 0;
}
