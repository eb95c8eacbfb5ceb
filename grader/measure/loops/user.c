// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A program that executes LOOPS loops REPEAT times and prints the wall-clock
 * time in nanoseconds. The build defines REPEAT and LOOPS.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "loops.h"

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(void)
{
	long long begin;

	loops(LOOPS);
	begin = now();
	for (int i = 0; i < REPEAT; i++)
		loops(LOOPS);
	printf("%lld\n", now() - begin);
	return 0;
}
