/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * bench FIBERS SLICES WORK: run FIBERS fibers in a ring. Each fiber does a
 * slice of work and switches to the next fiber, SLICES times. Output:
 *
 *	CYCLES NS	to create the fibers
 *	CYCLES NS	for all switches, from the first to the last
 *
 * WORK is the number of instructions in a slice, which is a loop with two
 * instructions in each iteration. The file that is included before this one
 * selects the library. Both measurements begin directly after a timer tick. If
 * the cycle counter counts instructions, as in the emulator, a measurement that
 * ends before the next tick contains no interrupt.
 */
#ifndef FIBERS_BENCH_H
#define FIBERS_BENCH_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "test_support.h"

#define MOST 1024
#define STACK_BYTES (16 << 10)

static long home, ids[MOST];
static unsigned long count, slices, work;

struct clock {
	uint64_t cycles, ns;
};

static void read_clock(struct clock *clock)
{
	clock->ns = test_nanoseconds();
	clock->cycles = test_cycles();
}

static void begin(struct clock *clock)
{
	struct timespec shortest = { .tv_nsec = 1 };

	nanosleep(&shortest, NULL);
	read_clock(clock);
}

static void end(const struct clock *since)
{
	struct clock now;

	read_clock(&now);
	printf("%" PRIu64 " %" PRIu64 "\n", now.cycles - since->cycles,
	       now.ns - since->ns);
}

static void runs(void *argument)
{
	unsigned long me = (unsigned long)argument;
	long next = me + 1 < count ? ids[me + 1] : home;

	for (;;) {
		unsigned long steps = work;

		if (steps)
			__asm__ volatile("1:\n\tdec\t%0\n\tjnz\t1b"
					 : "+r"(steps));
		if (fiber_switch(next))
			abort();
	}
}

int main(int argc, char **argv)
{
	struct clock clock;
	char *stacks;

	if (argc != 4 || fibers_begin()) {
		fputs("usage: bench FIBERS SLICES WORK\n", stderr);
		return 2;
	}
	count = strtoul(argv[1], NULL, 10);
	slices = strtoul(argv[2], NULL, 10);
	work = strtoul(argv[3], NULL, 10) / 2;
	stacks = mmap(NULL, MOST * STACK_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	home = fiber_convert();
	if (stacks == MAP_FAILED || home < 1 || !count || count > MOST)
		return 1;
	begin(&clock);
	for (unsigned long i = 0; i < count; i++)
		ids[i] = fiber_create(stacks + i * STACK_BYTES, STACK_BYTES,
				      runs, (void *)i);
	end(&clock);
	/* Run each fiber once, so that its first run is not measured. */
	if (ids[count - 1] < 1 || fiber_switch(ids[0]))
		return 1;
	begin(&clock);
	for (unsigned long i = 0; i < slices; i++)
		if (fiber_switch(ids[0]))
			return 1;
	end(&clock);
	return 0;
}

#endif
