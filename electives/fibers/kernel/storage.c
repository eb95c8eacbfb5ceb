// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Fiber-local storage: keys belong to the process, values to a fiber. All
 * functions run under the table's lock, so that the values of a freed key are
 * zero in every fiber before the key is allocated again.
 */
#include <linux/slab.h>

#include "table.h"

/* Return the address of a key's value in a fiber; NULL if it was never set. */
static u64 *place(const struct fiber *fiber, unsigned long key)
{
	u64 *block = fiber->local[key / LOCAL_BLOCK];

	return block ? block + key % LOCAL_BLOCK : NULL;
}

static bool known(const struct table *table, u64 key)
{
	return key < FIBERS_KEYS && test_bit(key, table->keys);
}

long fibers_local_alloc(struct table *table)
{
	unsigned long key = find_first_zero_bit(table->keys, FIBERS_KEYS);

	if (key >= FIBERS_KEYS)
		return -ENOSPC;
	set_bit(key, table->keys);
	return (long)key;
}

long fibers_local_free(struct table *table, unsigned long key)
{
	struct fiber *fiber = NULL;
	unsigned long i;

	if (!known(table, key))
		return -EINVAL;
	/* task 3 { */
	xa_for_each(&table->fibers, i, fiber) {
		u64 *value = place(fiber, key);

		if (value)
			*value = 0;
	}
	clear_bit(key, table->keys);
	/* } task 3, until then: (void)fiber, (void)i; */
	return 0;
}

long fibers_local_get(struct table *table, struct fibers_local *local)
{
	struct thread *me = fibers_thread(table);
	u64 *value;

	if (!me)
		return -EPERM;
	if (!known(table, local->key))
		return -EINVAL;
	value = place(me->fiber, local->key);
	local->value = value ? *value : 0;
	return 0;
}

long fibers_local_set(struct table *table, const struct fibers_local *local)
{
	struct thread *me = fibers_thread(table);
	u64 **block;

	if (!me)
		return -EPERM;
	if (!known(table, local->key))
		return -EINVAL;
	/* task 3 { */
	block = &me->fiber->local[local->key / LOCAL_BLOCK];
	if (!*block)
		*block = kcalloc(LOCAL_BLOCK, sizeof(u64), GFP_KERNEL_ACCOUNT);
	if (!*block)
		return -ENOMEM;
	(*block)[local->key % LOCAL_BLOCK] = local->value;
	/* } task 3, until then: (void)block; */
	return 0;
}

void fibers_local_end(struct fiber *fiber)
{
	for (size_t i = 0; i < ARRAY_SIZE(fiber->local); i++)
		kfree(fiber->local[i]);
}
