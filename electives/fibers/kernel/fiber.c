// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Fibers and the threads that run them.
 *
 * The kernel does not notify a module when a thread ends. The module therefore
 * checks threads when necessary: it holds a reference to a thread's struct pid,
 * which is never reused meanwhile. A thread is alive while struct pid has a
 * task that is not exiting and uses the table's memory. Ended threads, and the
 * fibers in which they ended, are removed on the next convert, create or
 * delete.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "context.h"
#include "table.h"

#define LEAST_STACK 128
#define ABOVE 64

/*
 * Return the calling thread's entry, or NULL. Compare struct pid, because the
 * thread number may have been reused.
 */
struct thread *fibers_thread(struct table *table)
{
	struct thread *me = xa_load(&table->threads, task_pid_nr(current));

	return me && me->pid == task_pid(current) ? me : NULL;
}

bool fibers_lives(const struct table *table, const struct thread *thread)
{
	struct task_struct *task;
	bool lives;

	rcu_read_lock();
	task = pid_task(thread->pid, PIDTYPE_PID);
	/*
	 * Do not use exit_state, because pthread_join() returns before it is
	 * set.
	 */
	lives = task && !(READ_ONCE(task->flags) & PF_EXITING) &&
		READ_ONCE(task->mm) == table->mm;
	rcu_read_unlock();
	return lives;
}

static void free_thread(struct rcu_head *rcu)
{
	struct thread *thread = container_of(rcu, struct thread, rcu);

	/*
	 * Free the entry only after the grace period, because fibers_lives()
	 * may use its pid until then.
	 */
	put_pid(thread->pid);
	kfree(thread);
}

static void forget(struct table *table, struct fiber *fiber)
{
	xa_erase(&table->fibers, fiber->id);
	table->count--;
	fibers_local_end(fiber);
	kfree_rcu(fiber, rcu);
}

void fibers_reap(struct table *table)
{
	struct thread *thread;
	struct fiber *fiber;
	unsigned long i, j;

	xa_for_each(&table->threads, i, thread) {
		/* task 4 { */
		if (fibers_lives(table, thread))
			continue;
		xa_for_each(&table->fibers, j, fiber)
			if (READ_ONCE(fiber->owner) == thread ||
			    fiber->home == thread)
				forget(table, fiber);
		xa_erase(&table->threads, i);
		call_rcu(&thread->rcu, free_thread);
		/* } task 4 */
	}
}

/*
 * Free the contents of a table when its last file is closed. No thread uses the
 * table then.
 */
void fibers_end(struct table *table)
{
	struct thread *thread;
	struct fiber *fiber;
	unsigned long i;

	/* task 4 { */
	xa_for_each(&table->fibers, i, fiber) {
		forget(table, fiber);
	}
	xa_for_each(&table->threads, i, thread) {
		call_rcu(&thread->rcu, free_thread);
	}
	xa_destroy(&table->fibers);
	xa_destroy(&table->threads);
	/* } task 4 */
}

/* Allocate a fiber and its id. The owner may be NULL. */
static struct fiber *make(struct table *table, struct thread *owner)
{
	size_t size = context_size();
	struct fiber *fiber;
	int error;

	if (table->context_size && table->context_size != size)
		return ERR_PTR(-EOPNOTSUPP);
	if (table->count == FIBERS_MOST)
		return ERR_PTR(-ENOSPC);
	fiber = kzalloc(sizeof(*fiber) + size, GFP_KERNEL_ACCOUNT);
	if (!fiber)
		return ERR_PTR(-ENOMEM);
	fiber->context = (struct context *)(fiber + 1);
	fiber->owner = owner;
	fiber->home = owner;
	fiber->creator = task_pid_nr(current);
	/*
	 * Allocate ids cyclically, so that the id of a deleted fiber is not
	 * reused soon. The entry stays NULL until the fiber is complete.
	 */
	error = xa_alloc_cyclic(&table->fibers, &fiber->id, NULL,
				XA_LIMIT(1, INT_MAX), &table->next,
				GFP_KERNEL_ACCOUNT);
	if (error < 0) {
		kfree(fiber);
		return ERR_PTR(error);
	}
	table->context_size = size;
	table->count++;
	return fiber;
}

/*
 * Make the fiber visible to other threads. The store needs no memory, because
 * the entry is already allocated.
 */
static long publish(struct table *table, struct fiber *fiber)
{
	xa_store(&table->fibers, fiber->id, fiber, GFP_KERNEL_ACCOUNT);
	return fiber->id;
}

long fibers_convert(struct table *table)
{
	struct thread *me;
	struct fiber *home;
	int error;

	fibers_reap(table);
	if (fibers_thread(table))
		return -EEXIST;
	me = kzalloc(sizeof(*me), GFP_KERNEL_ACCOUNT);
	if (!me)
		return -ENOMEM;
	me->number = task_pid_nr(current);
	error = xa_insert(&table->threads, me->number, me, GFP_KERNEL_ACCOUNT);
	if (error) {
		kfree(me);
		return error;
	}
	me->pid = get_pid(task_pid(current));
	home = make(table, me);
	if (IS_ERR(home)) {
		xa_erase(&table->threads, me->number);
		call_rcu(&me->rcu, free_thread);
		return PTR_ERR(home);
	}
	home->activations = 1;
	home->since_ns = ktime_get_ns();
	me->fiber = home;
	return publish(table, home);
}

long fibers_create(struct table *table, const struct fibers_create *wanted)
{
	u64 top = (wanted->stack + wanted->size) & ~15ULL;
	struct fiber *fiber;

	fibers_reap(table);
	if (!fibers_thread(table))
		return -EPERM;
	if (wanted->size < LEAST_STACK || top <= wanted->stack)
		return -EINVAL;
	/*
	 * The compiler expects the stack as after a call: a multiple of 16
	 * minus the return address, which is 0 here. The bytes above it may be
	 * read by functions such as syscall(), which load stack arguments.
	 */
	top -= ABOVE + sizeof(u64);
	if (put_user(0, (u64 __user *)(unsigned long)top))
		return -EFAULT;
	fiber = make(table, NULL);
	if (IS_ERR(fiber))
		return PTR_ERR(fiber);
	fiber->entry = wanted->entry;
	context_begin(fiber->context, wanted->entry, top, wanted->argument);
	return publish(table, fiber);
}

/* Make @me the owner of a waiting fiber. */
static int claim(const struct table *table, struct fiber *fiber,
		 struct thread *me)
{
	struct thread *owner;

	if (fiber->home && fiber->home != me)
		return fibers_lives(table, fiber->home) ? -EACCES : -EOWNERDEAD;
	/* task 2 { */
	owner = cmpxchg_acquire(&fiber->owner, NULL, me);
	/* } task 2, until then:
	 * owner = fiber->owner;
	 * if (!owner)
	 *	fiber->owner = me;
	 */
	if (!owner)
		return 0;
	return fibers_lives(table, owner) ? -EBUSY : -EOWNERDEAD;
}

long fibers_switch(struct table *table, unsigned long id)
{
	struct fiber *to, *from;
	struct thread *me;
	int error = -ESRCH;
	u64 now;

	rcu_read_lock();
	me = fibers_thread(table);
	if (!me) {
		rcu_read_unlock();
		return -EPERM;
	}
	to = xa_load(&table->fibers, id);
	if (!to)
		goto out;
	error = table->context_size == context_size() ? claim(table, to, me) :
							-EOPNOTSUPP;
	if (error) {
		atomic_long_inc(&to->failed);
		goto out;
	}
	from = me->fiber;
	context_switch(from->context, to->context);
	now = ktime_get_ns();
	WRITE_ONCE(from->ran_ns, from->ran_ns + now - from->since_ns);
	WRITE_ONCE(from->since_ns, 0);
	WRITE_ONCE(to->since_ns, now);
	WRITE_ONCE(to->activations, to->activations + 1);
	me->fiber = to;
	/* Release @from only now, because its registers are saved now. */
	smp_store_release(&from->owner, NULL);
out:
	rcu_read_unlock();
	return error;
}

long fibers_delete(struct table *table, unsigned long id)
{
	struct thread *me = fibers_thread(table);
	struct fiber *fiber;
	int error;

	if (!me)
		return -EPERM;
	fibers_reap(table);
	fiber = xa_load(&table->fibers, id);
	if (!fiber)
		return -ESRCH;
	if (fiber->home)
		return READ_ONCE(fiber->owner) ? -EBUSY : -EACCES;
	error = claim(table, fiber, me);
	if (error)
		return error;
	forget(table, fiber);
	return 0;
}
