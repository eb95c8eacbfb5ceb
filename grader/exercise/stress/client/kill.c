// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Kill callers at random moments of a long call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fibstress.h"

/* The time when the current child is killed, in ns of CLOCK_MONOTONIC. */
static uint64_t *killed_at;

/*
 * Kill this process after @wait ns. A timer interrupts a call in the kernel at
 * any instruction. With one CPU, another process would run only where the call
 * yields, so each kill would happen at a yield.
 */
static void die_in(uint64_t wait)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGKILL,
	};
	struct itimerspec when = {};
	timer_t timer;

	*killed_at = now() + wait;
	when.it_value.tv_sec = (time_t)(*killed_at / 1000000000);
	when.it_value.tv_nsec = (long)(*killed_at % 1000000000);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, TIMER_ABSTIME, &when, NULL))
		give_up("timer");
}

/*
 * Let a child read F(n), or sleep if fd is -1, and kill it after @wait ns.
 * Return the time in ns from the kill to the end of the child; 0 if the child
 * ended before.
 */
static uint64_t kill_one(int fd, uint64_t n, uint64_t wait)
{
	pid_t child = fork();
	uint64_t end;
	int status;

	if (child < 0)
		give_up("fork");
	if (!child) {
		die_in(wait);
		if (fd < 0)
			pause();
		_exit(read_right(fd, n, "in a child") ? 0 : 1);
	}
	if (waitpid(child, &status, 0) != child)
		give_up("waitpid");
	end = now();
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return end - *killed_at;
	if (status)
		wrong("a reader that was killed ended with %#x", status);
	return 0;
}

void do_kill(char **args)
{
	uint64_t state = strtoull(args[0], NULL, 10);
	unsigned long count = strtoul(args[1], NULL, 10), killed = 0;
	uint64_t n = strtoull(args[2], NULL, 10);
	uint64_t begin, whole, idle, latest = 0;
	int fd = must_open_device();

	killed_at = mmap(NULL, sizeof(*killed_at), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (killed_at == MAP_FAILED)
		give_up("memory");
	begin = now();
	read_right(fd, n, "before the kills");
	whole = now() - begin;
	idle = kill_one(-1, 0, 1000000);
	for (unsigned long i = 0; i < count; i++) {
		uint64_t late = kill_one(fd, n, random_below(&state, whole));

		killed += late != 0;
		if (latest < late)
			latest = late;
	}
	read_right(fd, n, "after the kills");
	printf("killed=%lu of=%lu whole=%llu idle=%llu latest=%llu\n", killed,
	       count, (unsigned long long)whole, (unsigned long long)idle,
	       (unsigned long long)latest);
}
