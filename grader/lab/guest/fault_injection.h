/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Make kernel allocations fail on demand, for programs of the guest. This needs
 * a kernel with fault injection (failslab). Every function here ends the
 * program with status 2 if it fails. See Documentation/fault-injection of the
 * kernel.
 */
#ifndef LAB_FAULT_INJECTION_H
#define LAB_FAULT_INJECTION_H

#include <stdbool.h>

/*
 * An argument of fault_arm() that makes no allocation fail, because no call
 * makes that many allocations.
 */
#define FAULT_NEVER 1000000000U

/* Call this first. Enables failures also in allocations that may sleep. */
void fault_begin(void);

/*
 * Makes one allocation of this thread fail: the @k-th from now on, or none if @k
 * is 0.
 */
void fault_arm(unsigned int k);

/*
 * Ends the fault injection of this thread. Returns the number of allocations
 * that were left until the failure, or 0 if an allocation has failed.
 */
unsigned int fault_disarm(void);

/*
 * Makes @percent percent of all further allocations of the selected processes
 * fail.
 */
void fault_random(const char *percent);

/* Selects this process for fault_random(), or deselects it. */
void fault_this_process(bool enable);

#endif
