// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Many at once: threads with files of their own, threads that share one, and
 * somebody who unloads and loads the module meanwhile.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hammer.h"

static uint64_t top, max_n;
static volatile bool over;
/* One call, then a pause: so that at times nobody has the device open. */
static bool briefly;
static unsigned long calls, loads;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * What write returns is this call's time and no other's: no longer than the
 * call has taken from outside, by the same clock.
 */
static void timed_write(int fd, uint64_t n)
{
	uint64_t begin = now(), outside;
	ssize_t ns = pwrite(fd, "", 1, (off_t)n);

	outside = now() - begin;
	if (ns < 1)
		wrong("write at %llu: %zd (%s)", (unsigned long long)n, ns,
		      strerror(errno));
	else if ((uint64_t)ns > outside)
		wrong("write at %llu returns %zd ns, but has taken %llu",
		      (unsigned long long)n, ns, (unsigned long long)outside);
}

/* All calls on a file of one's own. */
static void own_file(uint64_t *state)
{
	uint64_t n = random_log(state, top), position;
	struct fibdrv_measure m = {
		.size = sizeof(m),
		.n = n,
		.repeat = 2,
	};
	char digits[64];
	ssize_t ret;
	int fd = open_device(O_RDWR);

	if (fd < 0) {
		/* Somebody has unloaded it. */
		if (errno != ENOENT && errno != ENXIO && errno != ENODEV)
			wrong("open: %s", strerror(errno));
		return;
	}
	position = random_below(state, 91);
	if (lseek(fd, (off_t)position, SEEK_SET) != (off_t)position)
		wrong("lseek: %s", strerror(errno));
	for (int i = 0; i < (briefly ? 1 : 8); i++) {
		n = random_log(state, top);
		switch (random_below(state, 5)) {
		case 0:
			timed_write(fd, n);
			break;
		case 1:
			m.n = n;
			if (ioctl(fd, FIBDRV_IOC_MEASURE, &m) ||
			    m.digits != 2 * fib_digits(n))
				wrong("measure of F(%llu)",
				      (unsigned long long)n);
			break;
		case 2:
			if (lseek(fd, (off_t)max_n + 1, SEEK_SET) != -1 ||
			    errno != EINVAL)
				wrong("lseek beyond max_n");
			break;
		default:
			read_right(fd, n, "among others");
		}
		ret = read(fd, digits, sizeof(digits));
		if (!fib_right(position, digits, ret))
			wrong("read at %llu: %zd", (unsigned long long)position,
			      ret);
		__atomic_add_fetch(&calls, 2, __ATOMIC_RELAXED);
	}
	close(fd);
}

static void *run_own(void *seed)
{
	uint64_t state = *(uint64_t *)seed;

	while (!over) {
		struct timespec pause = {
			.tv_nsec = (long)random_below(&state, 50000000),
		};

		own_file(&state);
		if (briefly)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static int shared_fd;

static void *run_shared(void *seed)
{
	uint64_t state = *(uint64_t *)seed;

	while (!over) {
		if (random_below(&state, 4))
			read_right(shared_fd, random_log(&state, top),
				   "on a shared file");
		else
			timed_write(shared_fd, random_log(&state, top));
		__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Unloads whenever nobody has the device open, and loads it again. */
static void *run_loader(void *module)
{
	while (!over) {
		struct timespec pause = { .tv_nsec = 2000000 };

		if (!unload_module()) {
			loads++;
			if (load_module(module))
				wrong("load under fire: %s", strerror(errno));
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void run_threads(unsigned int count, unsigned int seconds,
			uint64_t *state, void *(*body)(void *), char *module)
{
	pthread_t *threads = calloc(count, sizeof(*threads)), loader;
	uint64_t *seeds = calloc(count, sizeof(*seeds));

	if (!threads || !seeds)
		give_up("memory");
	over = false;
	for (unsigned int i = 0; i < count; i++) {
		seeds[i] = random_next(state);
		if (pthread_create(&threads[i], NULL, body, &seeds[i]))
			give_up("pthread_create");
	}
	if (module && pthread_create(&loader, NULL, run_loader, module))
		give_up("pthread_create");
	sleep(seconds);
	over = true;
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	if (module)
		pthread_join(loader, NULL);
	free(threads);
	free(seeds);
}

void do_storm(char **args)
{
	uint64_t state = strtoull(args[0], NULL, 10);
	unsigned int seconds = (unsigned int)atoi(args[1]);
	unsigned int threads = (unsigned int)atoi(args[2]);

	top = strtoull(args[3], NULL, 10);
	max_n = strtoull(args[4], NULL, 10);
	run_threads(threads, seconds / 3, &state, run_own, NULL);
	shared_fd = open_device(O_RDWR);
	if (shared_fd < 0)
		give_up(FIBDRV_DEVICE);
	run_threads(threads, (seconds + 1) / 3, &state, run_shared, NULL);
	close(shared_fd);
	briefly = true;
	run_threads(threads, (seconds + 2) / 3, &state, run_own, args[5]);
	printf("calls=%lu loads=%lu\n", calls, loads);
}

/*
 * Kills readers at some moment of a long call. Each must end by the kill, or
 * with the right digits if it was faster.
 */
void do_kill(char **args)
{
	uint64_t state = strtoull(args[0], NULL, 10);
	unsigned long count = strtoul(args[1], NULL, 10), killed = 0;
	uint64_t n = strtoull(args[2], NULL, 10);
	uint64_t begin = now(), whole;
	int fd = open_device(O_RDWR);

	if (fd < 0)
		give_up(FIBDRV_DEVICE);
	read_right(fd, n, "before the kills");
	whole = now() - begin;
	for (unsigned long i = 0; i < count; i++) {
		uint64_t wait = random_below(&state, whole);
		struct timespec pause = {
			.tv_sec = (time_t)(wait / 1000000000),
			.tv_nsec = (long)(wait % 1000000000),
		};
		pid_t child = fork();
		int status;

		if (child < 0)
			give_up("fork");
		if (!child)
			_exit(read_right(fd, n, "in a child") ? 0 : 1);
		nanosleep(&pause, NULL);
		kill(child, SIGKILL);
		if (waitpid(child, &status, 0) != child)
			give_up("waitpid");
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			killed++;
		else if (status)
			wrong("a reader that was killed ended with %#x",
			      status);
	}
	read_right(fd, n, "after the kills");
	printf("killed=%lu of=%lu\n", killed, count);
}
