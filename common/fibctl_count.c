// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * One pread() whose instructions the machine's emulator counts: see fibctl.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "batch.h"
#include "fibctl.h"
#include "marker.h"

/*
 * What the kernel has put off is done by then: for the load of a module, and
 * for the pipes below, whose files are freed after a grace period of RCU.
 */
#define SETTLE_NS 50000000

/* Blocks of each size, which is 40 bytes times a power of two, up to 160 KB. */
#define BLOCKS 8
#define LARGEST 4096

/*
 * Have the kernel allocate and free blocks of all sizes that a stage may ask
 * for: what they are taken from is then the same in each machine, whatever has
 * happened in it before. A pipe keeps 40 bytes for each of its pages, in a
 * block that is accounted to its process as those of the driver are.
 */
static void warm_allocator(void)
{
	int end[BLOCKS][2];

	for (int pages = 1; pages <= LARGEST; pages *= 2) {
		int count = 0;

		while (count < BLOCKS && !pipe(end[count])) {
			fcntl(end[count][0], F_SETPIPE_SZ, pages * 4096);
			count++;
		}
		while (count--) {
			close(end[count][0]);
			close(end[count][1]);
		}
	}
}

/*
 * Let no other task run until the call has ended: what a kernel puts off may take
 * 200,000 instructions. A call is shorter than the second after which the kernel
 * would let others run all the same.
 */
static void run_alone(bool alone)
{
	struct sched_param param = { .sched_priority = alone };

	sched_setscheduler(0, alone ? SCHED_FIFO : SCHED_OTHER, &param);
}

/* In spoken_pread.S. */
long spoken_pread(int fd, char *buffer, size_t size, uint64_t n);

void fibctl_count(const struct request *r)
{
	struct timespec settle = { .tv_nsec = SETTLE_NS };
	uint64_t n = (uint64_t)number(r, 2);
	size_t size = fibctl_room(n);
	int fd = file(r); /* Here, so that it is not counted. */
	char *buffer;

	/* Everything is in memory beforehand: no fault is counted. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		answer(-1);
		return;
	}
	buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED) {
		answer(-1);
		return;
	}
	memset(buffer, 0, size);
	nanosleep(&settle, NULL);
	warm_allocator();
	nanosleep(&settle, NULL);
	run_alone(true);
	printf("%ld\n", spoken_pread(fd, buffer, size, n));
	run_alone(false);
	munmap(buffer, size);
	munlockall();
}

void fibctl_ready(void)
{
	MARK(MARKER_READY);
	answer(0);
}
