// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Measure the cost of a write to a file: a static program for the guest. A
 * module can do any work to be measured in its write function.
 *
 *	cost FILE TEXT TIMES
 *
 * opens FILE and writes TEXT to it TIMES times. For each write it prints one
 * line with the nanoseconds, system call included. The markers BEGIN and END
 * surround each write, for an emulator that counts instructions (see marker.h).
 * If a write does not take all of TEXT, cost prints the reason and exits with
 * status 1.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "marker.h"

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long times;
	size_t size;
	int fd;

	if (argc != 4) {
		fputs("usage: cost FILE TEXT TIMES\n", stderr);
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
		uint64_t ns = nanoseconds();
		ssize_t ret;

		MARK(MARKER_BEGIN);
		ret = write(fd, argv[2], size);
		MARK(MARKER_END);
		ns = nanoseconds() - ns;
		if (ret != (ssize_t)size) {
			perror(argv[1]);
			return 1;
		}
		printf("%" PRIu64 "\n", ns);
	}
	return 0;
}
