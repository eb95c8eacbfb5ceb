// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Replaces fiber.c: report an entry that is removed from a table and freed
 * before an RCU grace period has passed. Readers may still use such an entry.
 * The check does not need a reader at that moment. When the module is removed,
 * report references to threads that were taken and not released. The linker
 * redirects the calls of the whole module to this file (WRAPPED in build.py),
 * so no other name of a function avoids the check.
 */
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "table.h"

/* More entries than a test removes between two grace periods. */
#define MOST_REMOVED 4096

/* The latest removed entries, with the RCU state at their removal. */
static struct removed {
	const void *entry;
	unsigned long when;
} removed[MOST_REMOVED];
static unsigned int removals;
static DEFINE_SPINLOCK(removed_lock);

static void *note_removed(void *entry)
{
	unsigned long flags;

	spin_lock_irqsave(&removed_lock, flags);
	removed[removals++ % MOST_REMOVED] =
		(struct removed){ entry, get_state_synchronize_rcu() };
	spin_unlock_irqrestore(&removed_lock, flags);
	return entry;
}

static void check_readers(const void *entry)
{
	bool early = false;
	unsigned long flags;

	spin_lock_irqsave(&removed_lock, flags);
	for (int i = 0; entry && i < MOST_REMOVED; i++)
		if (removed[i].entry == entry &&
		    !poll_state_synchronize_rcu(removed[i].when))
			early = true;
	spin_unlock_irqrestore(&removed_lock, flags);
	if (early) {
		pr_err("BUG: freed while readers under RCU may still use it; pass it to call_rcu\n");
		dump_stack();
	}
}

/* Replace a function that returns the entry that it has removed. */
#define REMOVES(name, arguments, ...)                         \
	void *__real_##name(__VA_ARGS__);                     \
	void *__wrap_##name(__VA_ARGS__);                     \
	void *__wrap_##name(__VA_ARGS__)                      \
	{                                                     \
		return note_removed(__real_##name arguments); \
	}

REMOVES(xa_erase, (xa, i), struct xarray *xa, unsigned long i)
REMOVES(__xa_erase, (xa, i), struct xarray *xa, unsigned long i)
REMOVES(xa_store, (xa, i, entry, gfp), struct xarray *xa, unsigned long i,
	void *entry, gfp_t gfp)
REMOVES(__xa_store, (xa, i, entry, gfp), struct xarray *xa, unsigned long i,
	void *entry, gfp_t gfp)
REMOVES(xas_store, (xas, entry), struct xa_state *xas, void *entry)

#define FREES(name)                            \
	void __real_##name(const void *entry); \
	void __wrap_##name(const void *entry); \
	void __wrap_##name(const void *entry)  \
	{                                      \
		check_readers(entry);          \
		__real_##name(entry);          \
	}

FREES(kfree)
FREES(kvfree)
FREES(kfree_sensitive)

static atomic_t references;

static struct pid *take_reference(struct pid *pid)
{
	atomic_inc(&references);
	return get_pid(pid);
}

void __real_put_pid(struct pid *pid);
void __wrap_put_pid(struct pid *pid);
void __wrap_put_pid(struct pid *pid)
{
	atomic_dec(&references);
	__real_put_pid(pid);
}

/* The kernel calls this after all callbacks of RCU have run. */
static void report_references(void *unused)
{
	int count = atomic_read(&references);

	if (count > 0)
		pr_err("BUG: %d references by get_pid were never released by put_pid\n",
		       count);
}

static const struct kernel_param_ops references_ops = {
	.free = report_references,
};
module_param_cb(references, &references_ops, NULL, 0);

#define get_pid take_reference
#include "fiber.c"
