// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Replaces table.c: during the system call, a thread moves to another CPU
 * before a switch and back after it. The first CPU may still hold the
 * thread's old registers, which must not be used any more.
 */
#include <linux/cpumask.h>
#include <linux/sched.h>

#include "table.h"

static long migrate(struct table *table, unsigned long id)
{
	long done;

	set_cpus_allowed_ptr(current, cpumask_of(1));
	done = fibers_switch(table, id);
	set_cpus_allowed_ptr(current, cpumask_of(0));
	return done;
}

#define fibers_switch migrate
#include "table.c"
