// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * /proc/fibers has a line for each fiber of the system, for root only, because
 * it shows addresses. /proc/PID/fdinfo/FD of an open /dev/fibers has the same
 * lines for one process, because the kernel lets every driver add lines to
 * fdinfo.
 */
#include <linux/ktime.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "table.h"

/*
 * The position of a reader. The file offset consists of a table's serial number
 * and a fiber's id, so it stays valid when other tables and fibers are created
 * or removed between two reads.
 */
struct cursor {
	struct table *table;
	unsigned long id; /* the next fiber; 0 for the heading */
};

static loff_t position(u32 serial, unsigned long id)
{
	return (loff_t)serial << 32 | id;
}

static void show(struct seq_file *seq, const struct table *table,
		 struct fiber *fiber)
{
	struct thread *owner = READ_ONCE(fiber->owner);
	const char *state = "waiting";
	u64 ran = READ_ONCE(fiber->ran_ns), since;
	pid_t thread = 0;

	if (owner) {
		state = "dead";
		thread = owner->number;
		if (fibers_lives(table, owner)) {
			state = "running";
			/* 0 if the owner has not started the clock yet */
			since = READ_ONCE(fiber->since_ns);
			ran += since ? ktime_get_ns() - since : 0;
		}
	} else if (fiber->home && !fibers_lives(table, fiber->home)) {
		state = "dead";
	}
	seq_printf(seq, "%d %u %s %d %d %#lx %llu %ld %llu\n", table->process,
		   fiber->id, state, thread, fiber->creator, fiber->entry,
		   READ_ONCE(fiber->activations),
		   atomic_long_read(&fiber->failed), ran);
}

static void heading(struct seq_file *seq)
{
	seq_puts(
		seq,
		"process id state thread creator entry activations failed ns\n");
}

void fibers_list_one(struct seq_file *seq, struct table *table)
{
	struct fiber *fiber;
	unsigned long i;

	heading(seq);
	rcu_read_lock();
	xa_for_each(&table->fibers, i, fiber) {
		show(seq, table, fiber);
	}
	rcu_read_unlock();
}

/* Return the first fiber at or after @pos, or NULL. */
static void *find(struct cursor *cursor, loff_t *pos)
{
	struct table *table = NULL;

	list_for_each_entry(table, &tables, node) {
		unsigned long id = 0;

		if (table->serial < *pos >> 32)
			continue;
		if (table->serial == *pos >> 32)
			id = (u32)*pos;
		if (!xa_find(&table->fibers, &id, INT_MAX, XA_PRESENT))
			continue;
		cursor->table = table;
		cursor->id = id;
		*pos = position(table->serial, id);
		return cursor;
	}
	return NULL;
}

static void *list_start(struct seq_file *seq, loff_t *pos)
{
	struct cursor *cursor = seq->private;

	mutex_lock(&tables_lock);
	cursor->id = 0;
	return *pos ? find(cursor, pos) : cursor;
}

static void *list_next(struct seq_file *seq, void *at, loff_t *pos)
{
	++*pos;
	return find(at, pos);
}

static void list_stop(struct seq_file *seq, void *at)
{
	mutex_unlock(&tables_lock);
}

static int list_show(struct seq_file *seq, void *at)
{
	struct cursor *cursor = at;
	struct fiber *fiber;

	if (!cursor->id) {
		heading(seq);
		return 0;
	}
	rcu_read_lock();
	fiber = xa_load(&cursor->table->fibers, cursor->id);
	if (fiber)
		show(seq, cursor->table, fiber);
	rcu_read_unlock();
	return 0;
}

static const struct seq_operations list_ops = {
	.start = list_start,
	.next = list_next,
	.stop = list_stop,
	.show = list_show,
};

int fibers_list_begin(void)
{
	return proc_create_seq_private("fibers", 0400, NULL, &list_ops,
				       sizeof(struct cursor), NULL) ?
		       0 :
		       -ENOMEM;
}

void fibers_list_end(void)
{
	remove_proc_entry("fibers", NULL);
}
