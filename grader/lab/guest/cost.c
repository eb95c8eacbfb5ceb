// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * What a write to a file costs, seen from outside: a static program of the
 * guest. Whatever a module does when it is written to can be measured so.
 *
 *	cost FILE TEXT TIMES
 *
 * opens FILE and writes TEXT to it TIMES times; prints the nanoseconds of each,
 * system call included, a line for each. Around each are the markers BEGIN and
 * END, for an emulator that counts instructions (see marker.h). Ends with 1,
 * and says why, when a write does not take all of TEXT.
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
