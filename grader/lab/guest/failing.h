/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Allocations that fail on demand, by the kernel's fault injection: what a
 * program of the guest needs for it on a kernel that has failslab. Whatever
 * cannot be done ends the program with status 2.
 * See Documentation/fault-injection of the kernel.
 */
#ifndef LAB_FAILING_H
#define LAB_FAILING_H

#include <stdbool.h>

/* More allocations than any call needs. */
#define FAILING_NEVER 1000000000U

/* To be called first: all allocations may fail, those that could wait too. */
void failing_begin(void);

/* The @k-th allocation of this thread from here on fails; 0: none. */
void failing_arm(unsigned int k);

/* No more fail. Returns how many were still to come: 0 when one has failed. */
unsigned int failing_disarm(void);

/* From now on allocations of starved processes fail, @percent of a hundred. */
void failing_by_chance(const char *percent);

/* Starves this process, or lets it have memory again. */
void failing_starve(bool starve);

#endif
