/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A workload of known size: the same loop, repeated LOOPS times. Each step
 * depends on the step before, so that neither the compiler nor the CPU can skip
 * or overlap steps.
 */
#ifndef FIBDRV_LOOPS_H
#define FIBDRV_LOOPS_H

#define LOOP_STEPS 1000

static inline unsigned long long loops(unsigned int count)
{
	unsigned long long x = 1;

	for (unsigned int i = 0; i < count * LOOP_STEPS; i++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

#endif
