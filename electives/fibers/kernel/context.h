/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The registers of a fiber that does not run. While a thread is in a system
 * call its user registers lie in memory: to change fibers is to change those.
 * context_x86.c and context_um.c know where they lie.
 */
#ifndef FIBERS_CONTEXT_H
#define FIBERS_CONTEXT_H

#include <linux/types.h>

struct context;

/* Bytes of a context of the current thread. Threads may differ: x86's AMX has
 * 8 KB of registers, for threads that have asked for them.
 */
size_t context_size(void);

/* What a new fiber begins with: of floating point what the caller has. */
void context_begin(struct context *new, unsigned long ip, unsigned long sp,
		   unsigned long argument);

/* The current thread's registers go to @from, and come from @to. */
void context_switch(struct context *from, const struct context *to);

#endif
