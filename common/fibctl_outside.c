// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A system call by its caller's clocks: see fibctl.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "fibctl.h"

/* As the driver reads it, see there. */
uint64_t fibctl_cycles(void)
{
#ifdef __x86_64__
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence"
			 : "=a"(low), "=d"(high)
			 :
			 : "memory");
	return (uint64_t)high << 32 | low;
#else
	return 0;
#endif
}

static uint64_t ns_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct fibctl_outside fibctl_outside_begin(void)
{
	struct fibctl_outside begin;

	begin.ns = ns_now(CLOCK_MONOTONIC);
	begin.ticks_ns = ns_now(CLOCK_MONOTONIC_COARSE);
	begin.cycles = fibctl_cycles();
	return begin;
}

struct fibctl_outside fibctl_outside_end(struct fibctl_outside begin)
{
	struct fibctl_outside took;

	took.cycles = fibctl_cycles() - begin.cycles;
	took.ticks_ns = ns_now(CLOCK_MONOTONIC_COARSE) - begin.ticks_ns;
	took.ns = ns_now(CLOCK_MONOTONIC) - begin.ns;
	return took;
}

void fibctl_outside_print(struct fibctl_outside took)
{
	printf(" outside_ns=%" PRIu64 " outside_cycles=%" PRIu64
	       " outside_ticks_ns=%" PRIu64 "\n",
	       took.ns, took.cycles, took.ticks_ns);
}
