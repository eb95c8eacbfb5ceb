// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Stands in for table.c: a thread leaves its CPU before a switch and comes back
 * behind it, all within the system call. So it comes to a CPU that had its
 * registers last, and these are old.
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
