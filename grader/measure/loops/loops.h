/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Work that is known beforehand: LOOPS times the same loop, nothing else. Each
 * step needs the one before, so that no compiler and no CPU can skip any.
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
