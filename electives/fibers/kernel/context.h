/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Access to the registers of fibers. While a thread is in a system call, its
 * user registers are in memory, so exchanging them switches the thread to
 * another fiber. They are accessed in context_x86.c and context_um.c.
 */
#ifndef FIBERS_CONTEXT_H
#define FIBERS_CONTEXT_H

#include <linux/types.h>

struct context;

/*
 * Return the size in bytes of the current thread's context. Threads may differ:
 * x86's AMX has 8 KB of registers for each thread that has requested it.
 */
size_t context_size(void);

/*
 * Initialize a new fiber's registers; the floating-point registers are
 * copied from the calling thread.
 */
void context_begin(struct context *new, unsigned long ip, unsigned long sp,
		   unsigned long argument);

/* Save the current thread's registers in @from, and load them from @to. */
void context_switch(struct context *from, const struct context *to);

#endif
