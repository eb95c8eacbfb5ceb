// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * What a write to a file costs, seen from outside: a static program of the
 * guest. Whatever a module does when it is written to can be measured so.
 *
 *	cost FILE TEXT TIMES [tick]
 *
 * opens FILE and writes TEXT to it TIMES times; prints a line for each,
 * NANOSECONDS CYCLES, system call included. With tick each begins right behind
 * a timer tick, where those wake sleepers. Ends with 1, and says why, when a
 * write does not take all of TEXT.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The TSC, with everything before it done and nothing after it begun. */
static uint64_t cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence"
			 : "=a"(low), "=d"(high)
			 :
			 : "memory");
	return (uint64_t)high << 32 | low;
}

int main(int argc, char **argv)
{
	struct timespec shortest = { .tv_nsec = 1 };
	unsigned long times;
	size_t size;
	int fd;

	if (argc < 4 || argc > 5) {
		fputs("usage: cost FILE TEXT TIMES [tick]\n", stderr);
		return 2;
	}
	size = strlen(argv[2]);
	times = strtoul(argv[3], NULL, 10);
	fd = open(argv[1], O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	while (times--) {
		uint64_t ns, count;
		ssize_t ret;

		if (argc == 5)
			nanosleep(&shortest, NULL);
		ns = nanoseconds();
		count = cycles();
		ret = write(fd, argv[2], size);
		count = cycles() - count;
		ns = nanoseconds() - ns;
		if (ret != (ssize_t)size) {
			perror(argv[1]);
			return 1;
		}
		printf("%" PRIu64 " %" PRIu64 "\n", ns, count);
	}
	return 0;
}
