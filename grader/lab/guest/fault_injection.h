/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Allocations that fail on demand, by the kernel's fault injection: what a
 * program of the guest needs for it on a kernel that has failslab. Whatever
 * cannot be done ends the program with status 2.
 * See Documentation/fault-injection of the kernel.
 */
#ifndef LAB_FAULT_INJECTION_H
#define LAB_FAULT_INJECTION_H

#include <stdbool.h>

/* More allocations than any call needs. */
#define FAULT_NEVER 1000000000U

/* To be called first: all allocations may fail, those that could wait too. */
void fault_begin(void);

/* The @k-th allocation of this thread from here on fails; 0: none. */
void fault_arm(unsigned int k);

/* No more fail. Returns how many were still to come: 0 when one has failed. */
unsigned int fault_disarm(void);

/* From now on allocations of the selected processes fail, @percent of a hundred. */
void fault_random(const char *percent);

/* Select this process, or no longer. */
void fault_this_process(bool enable);

#endif
