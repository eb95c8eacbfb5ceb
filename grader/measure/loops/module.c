// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A module that executes LOOPS loops N times when the number N is written to
 * /proc/loops. The build defines LOOPS.
 */
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/proc_fs.h>

#include "loops.h"

static ssize_t loops_write(struct file *file, const char __user *buffer,
			   size_t size, loff_t *position)
{
	unsigned int repeat;
	int err = kstrtouint_from_user(buffer, size, 10, &repeat);

	if (err)
		return err;
	while (repeat--)
		loops(LOOPS);
	return size;
}

static const struct proc_ops loops_ops = {
	.proc_write = loops_write,
};

static int __init loops_init(void)
{
	return proc_create("loops", 0200, NULL, &loops_ops) ? 0 : -ENOMEM;
}

static void __exit loops_exit(void)
{
	remove_proc_entry("loops", NULL);
}

module_init(loops_init);
module_exit(loops_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A workload of known size");
