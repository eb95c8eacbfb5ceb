/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The data structures of the module: a table for each process with its fibers
 * and threads.
 *
 * All functions run under the table's lock, except the switch, which runs under
 * RCU. Only a fiber's owner accesses its registers; a thread becomes the owner
 * by changing the field from NULL with cmpxchg.
 */
#ifndef FIBERS_TABLE_H
#define FIBERS_TABLE_H

#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/xarray.h>

#include "fibers.h"

struct context;
struct seq_file;

/* Values are allocated in blocks, because few fibers use many keys. */
#define LOCAL_BLOCK 64

struct thread {
	struct pid *pid;
	pid_t number; /* its index in table.threads */
	struct fiber *fiber; /* the running fiber; read only by this thread */
	struct rcu_head rcu;
};

struct fiber {
	struct thread *owner; /* thread that runs this fiber, or NULL */
	struct thread *home; /* the thread with this first fiber, or NULL */
	u32 id;
	pid_t creator;
	unsigned long entry;
	/* Statistics, which the owner writes and the listing reads. */
	u64 activations, ran_ns, since_ns;
	atomic_long_t failed;
	u64 *local[FIBERS_KEYS / LOCAL_BLOCK];
	struct rcu_head rcu;
	struct context *context; /* stored directly after this struct */
};

struct table {
	struct kref kref;
	struct list_head node; /* entry in the list of all tables */
	struct mm_struct *mm; /* the process's memory */
	pid_t process;
	u32 serial;
	struct mutex lock; /* protects the members below */
	struct xarray fibers; /* by id */
	struct xarray threads; /* by number */
	u32 next, count;
	size_t context_size;
	DECLARE_BITMAP(keys, FIBERS_KEYS);
};

/* All tables, by increasing serial number. */
extern struct list_head tables;
extern struct mutex tables_lock;

/* fiber.c */
struct thread *fibers_thread(struct table *table);
bool fibers_lives(const struct table *table, const struct thread *thread);
void fibers_reap(struct table *table);
void fibers_end(struct table *table);
long fibers_convert(struct table *table);
long fibers_create(struct table *table, const struct fibers_create *wanted);
long fibers_switch(struct table *table, unsigned long id);
long fibers_delete(struct table *table, unsigned long id);

/* storage.c */
long fibers_local_alloc(struct table *table);
long fibers_local_free(struct table *table, unsigned long key);
long fibers_local_get(struct table *table, struct fibers_local *local);
long fibers_local_set(struct table *table, const struct fibers_local *local);
void fibers_local_end(struct fiber *fiber);

/* list.c */
int fibers_list_begin(void);
void fibers_list_end(void);
void fibers_list_one(struct seq_file *seq, struct table *table);

#endif
