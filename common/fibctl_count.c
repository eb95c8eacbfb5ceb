// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Make one pread() whose instructions the machine's emulator counts: see
 * fibctl.h.
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
 * The time that the kernel needs to complete the deferred work of loading the
 * module and of closing the pipes below, whose files are freed after an RCU
 * grace period.
 */
#define SETTLE_NS 50000000

/* Number of blocks of each size, and the largest size in units of 40 bytes. */
#define BLOCKS 8
#define LARGEST 4096

/*
 * Let the kernel allocate and free blocks of all sizes that a stage may
 * request. Afterwards the state of the allocator is the same in each machine. A
 * pipe has 40 bytes for each of its pages, in one block. The kernel charges
 * this block to the process, as it does with the driver's blocks.
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
 * Let no other task run until the call has ended, because deferred work of the
 * kernel may take 200,000 instructions. The kernel lets other tasks run after a
 * second, but a call takes less than a second.
 */
static void run_alone(bool alone)
{
	struct sched_param param = { .sched_priority = alone };

	sched_setscheduler(0, alone ? SCHED_FIFO : SCHED_OTHER, &param);
}

long spoken_pread(int fd, char *buffer, size_t size, uint64_t n);

void fibctl_count(const struct request *r)
{
	struct timespec settle = { .tv_nsec = SETTLE_NS };
	uint64_t n = (uint64_t)number(r, 2);
	size_t size = fibctl_room(n);
	int fd = file(r); /* parse H before the markers */
	char *buffer;

	/* Lock all memory, so that no page fault is counted. */
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
