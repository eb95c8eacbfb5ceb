// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Replaces fiber.c: report an entry of a table that is freed, or loses its
 * reference to a struct pid, before an RCU grace period has passed. Readers may
 * still use such an entry. The check does not need a reader at that moment, and
 * does not depend on how the entry is removed: it notes the entries that a
 * table has when a call begins. When the module is removed, report references
 * to threads that were taken and not released. The linker redirects the calls
 * of the whole module to this file (WRAPPED in build.py), so no other name of a
 * function avoids the check; build.py allows no other function that frees.
 *
 * Also report an entry that is still in its table when it is freed or passed to
 * RCU. The grace period then begins too early: a reader that finds the entry
 * after that may still use it when it is freed.
 */
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <linux/xarray.h>

#include "table.h"

/* More entries than the tests have or remove between two grace periods. */
#define MOST_ENTRIES 4096

/* Entries that a table had, with the RCU state at the latest such moment. */
static struct present {
	const void *entry;
	const struct pid *pid; /* of a thread, or NULL */
	struct table *table;
	unsigned long when;
} present[MOST_ENTRIES];
/* The references of the module to each struct pid. */
static struct reference {
	const struct pid *pid;
	int count;
} references[MOST_ENTRIES];
static DEFINE_SPINLOCK(lock);

/* The entry may have readers until a grace period has passed since then. */
static bool has_readers(const struct present *p)
{
	return p->entry && !poll_state_synchronize_rcu(p->when);
}

static void note(const void *entry, const struct pid *pid, struct table *table)
{
	struct present *free = NULL;

	for (int i = 0; i < MOST_ENTRIES; i++) {
		struct present *p = &present[i];

		if (p->entry == entry) {
			free = p;
			break;
		}
		if (!free && !has_readers(p))
			free = p;
	}
	if (free)
		*free = (struct present){ entry, pid, table,
					  get_state_synchronize_rcu() };
	else
		pr_err("BUG: more than %d entries\n", MOST_ENTRIES);
}

/* The caller holds the table's lock. */
static void note_all(struct table *table)
{
	struct thread *thread;
	struct fiber *fiber;
	unsigned long i, flags;

	spin_lock_irqsave(&lock, flags);
	xa_for_each(&table->threads, i, thread)
		note(thread, thread->pid, table);
	xa_for_each(&table->fibers, i, fiber)
		note(fiber, NULL, table);
	spin_unlock_irqrestore(&lock, flags);
}

#define BEGINS(name, arguments, ...)            \
	long __real_##name(__VA_ARGS__);        \
	long __wrap_##name(__VA_ARGS__);        \
	long __wrap_##name(__VA_ARGS__)         \
	{                                       \
		note_all(table);                \
		return __real_##name arguments; \
	}

BEGINS(fibers_convert, (table), struct table *table)
BEGINS(fibers_create, (table, wanted), struct table *table,
       const struct fibers_create *wanted)
BEGINS(fibers_delete, (table, id), struct table *table, unsigned long id)

/* The last file of a table is closed, so its entries have no readers. */
void __real_fibers_end(struct table *table);
void __wrap_fibers_end(struct table *table);
void __wrap_fibers_end(struct table *table)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	for (int i = 0; i < MOST_ENTRIES; i++)
		if (present[i].table == table)
			present[i].entry = NULL;
	spin_unlock_irqrestore(&lock, flags);
	__real_fibers_end(table);
}

static void report(const char *early)
{
	pr_err("BUG: %s while readers under RCU may still use it; pass it to call_rcu\n",
	       early);
	dump_stack();
}

static bool is_in(struct xarray *array, const void *entry)
{
	unsigned long i;
	void *other;

	xa_for_each(array, i, other)
		if (other == entry)
			return true;
	return false;
}

/* Report the entry that contains an address and is still in an array of its table. */
static void check_erased(const void *address)
{
	bool found = false;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	for (int i = 0; i < MOST_ENTRIES; i++) {
		struct present *p = &present[i];
		size_t size =
			p->pid ? sizeof(struct thread) : sizeof(struct fiber);

		/* An address below the entry is far above it when it wraps. */
		if (p->entry && address - p->entry < size)
			found |= is_in(p->pid ? &p->table->threads :
						&p->table->fibers,
				       p->entry);
	}
	spin_unlock_irqrestore(&lock, flags);
	if (!found)
		return;
	pr_err("BUG: an entry is passed to RCU or freed while it is in its table; erase it first\n");
	dump_stack();
}

void __real_call_rcu(struct rcu_head *head, rcu_callback_t callback);
void __wrap_call_rcu(struct rcu_head *head, rcu_callback_t callback);
void __wrap_call_rcu(struct rcu_head *head, rcu_callback_t callback)
{
	check_erased(head);
	__real_call_rcu(head, callback);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
typedef rcu_callback_t rcu_block;
#else
typedef void *rcu_block;
#endif

/* kfree_rcu() calls this. Without a head, the block itself is the second argument. */
void __real_kvfree_call_rcu(struct rcu_head *head, rcu_block block);
void __wrap_kvfree_call_rcu(struct rcu_head *head, rcu_block block);
void __wrap_kvfree_call_rcu(struct rcu_head *head, rcu_block block)
{
	check_erased(head ? (const void *)head : (const void *)block);
	__real_kvfree_call_rcu(head, block);
}

static void check_readers(const void *entry)
{
	bool early = false;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	for (int i = 0; entry && i < MOST_ENTRIES; i++)
		early |= present[i].entry == entry && has_readers(&present[i]);
	spin_unlock_irqrestore(&lock, flags);
	if (early)
		report("freed");
	check_erased(entry);
}

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

#ifdef krealloc /* from Linux 6.10 on */
#define REALLOC(prefix) prefix##krealloc_noprof
#else
#define REALLOC(prefix) prefix##krealloc
#endif

void *REALLOC(__real_)(const void *entry, size_t size, gfp_t gfp);
void *REALLOC(__wrap_)(const void *entry, size_t size, gfp_t gfp);
void *REALLOC(__wrap_)(const void *entry, size_t size, gfp_t gfp)
{
	void *moved = REALLOC(__real_)(entry, size, gfp);

	if (moved != entry && (moved || !size))
		check_readers(entry);
	return moved;
}

/* Add to the count of references to a struct pid. Return the new count. */
static int count_reference(const struct pid *pid, int change)
{
	struct reference *free = NULL;
	unsigned long flags;
	int count = 0;

	spin_lock_irqsave(&lock, flags);
	for (int i = 0; i < MOST_ENTRIES; i++) {
		struct reference *r = &references[i];

		if (r->count && r->pid == pid) {
			free = r;
			break;
		}
		if (!free && !r->count)
			free = r;
	}
	if (free) {
		if (!free->count)
			free->pid = pid;
		count = free->count += change;
	}
	spin_unlock_irqrestore(&lock, flags);
	return count;
}

static struct pid *take_reference(struct pid *pid)
{
	if (pid)
		count_reference(pid, 1);
	return get_pid(pid);
}

struct pid *__real_get_task_pid(struct task_struct *task, enum pid_type type);
struct pid *__wrap_get_task_pid(struct task_struct *task, enum pid_type type);
struct pid *__wrap_get_task_pid(struct task_struct *task, enum pid_type type)
{
	struct pid *pid = __real_get_task_pid(task, type);

	if (pid)
		count_reference(pid, 1);
	return pid;
}

void __real_put_pid(struct pid *pid);
void __wrap_put_pid(struct pid *pid);
void __wrap_put_pid(struct pid *pid)
{
	bool early = false;
	unsigned long flags;

	if (pid && count_reference(pid, -1) <= 0) {
		spin_lock_irqsave(&lock, flags);
		for (int i = 0; i < MOST_ENTRIES; i++)
			early |= present[i].pid == pid &&
				 has_readers(&present[i]);
		spin_unlock_irqrestore(&lock, flags);
	}
	if (early)
		report("put_pid releases the pid of an entry");
	__real_put_pid(pid);
}

/* The kernel calls this after all callbacks of RCU have run. */
static void report_references(void *unused)
{
	int count = 0;

	for (int i = 0; i < MOST_ENTRIES; i++)
		count += references[i].count;

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
