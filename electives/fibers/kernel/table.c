// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The device /dev/fibers has one table for each process that opened it. The
 * table is looked up by the process's mm_struct. The module regards a process
 * as ended when its last file is released: by exit, by a signal, or by exec if
 * the file has O_CLOEXEC.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "table.h"

LIST_HEAD(tables);
/* Protects the list of tables. */
DEFINE_MUTEX(tables_lock);
static u32 serial;

static uint first_id = 1;
module_param(first_id, uint, 0644);
MODULE_PARM_DESC(first_id,
		 "the id of a process's first fiber; the tests set it");

static struct table *find(void)
{
	struct table *table;

	list_for_each_entry(table, &tables, node)
		if (table->mm == current->mm)
			return table;
	return NULL;
}

static struct table *make(void)
{
	struct table *table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);

	if (!table)
		return NULL;
	kref_init(&table->kref);
	mutex_init(&table->lock);
	xa_init_flags(&table->fibers, XA_FLAGS_ALLOC1);
	xa_init(&table->threads);
	/*
	 * Hold a reference to the struct, not to its pages, so that its address
	 * is not reused.
	 */
	mmgrab(current->mm);
	table->mm = current->mm;
	table->process = task_tgid_nr(current);
	table->next = READ_ONCE(first_id);
	table->serial = ++serial;
	list_add_tail(&table->node, &tables);
	return table;
}

static int fibers_open(struct inode *inode, struct file *file)
{
	struct table *table;

	mutex_lock(&tables_lock);
	table = find();
	if (table)
		kref_get(&table->kref);
	else
		table = make();
	mutex_unlock(&tables_lock);
	if (!table)
		return -ENOMEM;
	file->private_data = table;
	return nonseekable_open(inode, file);
}

/* The caller must hold tables_lock; this function releases it. */
static void end(struct kref *kref)
{
	struct table *table = container_of(kref, struct table, kref);

	list_del(&table->node);
	mutex_unlock(&tables_lock);
	fibers_end(table);
	mmdrop(table->mm);
	kfree(table);
}

static int fibers_release(struct inode *inode, struct file *file)
{
	struct table *table = file->private_data;

	kref_put_mutex(&table->kref, end, &tables_lock);
	return 0;
}

static long local(struct table *table, unsigned int command,
		  struct fibers_local __user *given)
{
	struct fibers_local local;
	long done;

	if (copy_from_user(&local, given, sizeof(local)))
		return -EFAULT;
	if (command == FIBERS_LOCAL_SET)
		return fibers_local_set(table, &local);
	done = fibers_local_get(table, &local);
	if (!done && copy_to_user(given, &local, sizeof(local)))
		return -EFAULT;
	return done;
}

static long locked(struct table *table, unsigned int command,
		   unsigned long argument)
{
	struct fibers_create wanted;

	switch (command) {
	case FIBERS_CONVERT:
		return fibers_convert(table);
	case FIBERS_CREATE:
		if (copy_from_user(&wanted, (void __user *)argument,
				   sizeof(wanted)))
			return -EFAULT;
		return fibers_create(table, &wanted);
	case FIBERS_DELETE:
		return fibers_delete(table, argument);
	case FIBERS_LOCAL_ALLOC:
		return fibers_local_alloc(table);
	case FIBERS_LOCAL_FREE:
		return fibers_local_free(table, argument);
	case FIBERS_LOCAL_GET:
	case FIBERS_LOCAL_SET:
		return local(table, command, (void __user *)argument);
	}
	return -ENOTTY;
}

static long fibers_ioctl(struct file *file, unsigned int command,
			 unsigned long argument)
{
	struct table *table = file->private_data;
	long done;

	/* A child process inherits the file, but not the fibers. */
	if (current->mm != table->mm)
		return -ESRCH;
	if (command == FIBERS_SWITCH)
		return fibers_switch(table, argument);
	mutex_lock(&table->lock);
	done = locked(table, command, argument);
	mutex_unlock(&table->lock);
	return done;
}

static void fibers_fdinfo(struct seq_file *seq, struct file *file)
{
	fibers_list_one(seq, file->private_data);
}

static const struct file_operations fibers_ops = {
	.owner = THIS_MODULE,
	.open = fibers_open,
	.release = fibers_release,
	.unlocked_ioctl = fibers_ioctl,
	.show_fdinfo = fibers_fdinfo,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "fibers",
	.mode = 0666,
	.fops = &fibers_ops,
};

static int __init fibers_init(void)
{
	int error = fibers_list_begin();

	if (error)
		return error;
	error = misc_register(&device);
	if (error)
		fibers_list_end();
	return error;
}

static void __exit fibers_exit(void)
{
	misc_deregister(&device);
	fibers_list_end();
	/* Pending RCU callbacks call a function of this module. */
	rcu_barrier();
}

module_init(fibers_init);
module_exit(fibers_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION(
	"Fibers: contexts of execution that a process switches by hand");
