// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Make concurrent calls: in threads with files of their own, in threads that
 * share a file, and in a thread that unloads and loads the module.
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

#include "fibstress.h"

static uint64_t top, max_n;
static volatile bool over;
/*
 * True if the threads make only one call for each open and then pause, so that
 * at some moments no file is open.
 */
static bool briefly;
static unsigned long calls, loads;

/*
 * A thread. @session is odd while it has its own file open; each open and close
 * increments it.
 */
static struct worker {
	uint64_t state;
	unsigned long session;
} *workers;
static unsigned int worker_count;

/*
 * Check that write returns the time of this call and not of another call. The
 * time must be positive, and not longer than the call took in user space by the
 * same clock.
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
		wrong("write at %llu returns %zd ns, but took %llu",
		      (unsigned long long)n, ns, (unsigned long long)outside);
}

/* Open the device, make calls on the open file, and close the file. */
static void own_file(struct worker *worker)
{
	uint64_t *state = &worker->state;
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
		/* The module was unloaded. */
		if (errno != ENOENT && errno != ENXIO && errno != ENODEV)
			wrong("open: %s", strerror(errno));
		return;
	}
	__atomic_add_fetch(&worker->session, 1, __ATOMIC_SEQ_CST);
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
	__atomic_add_fetch(&worker->session, 1, __ATOMIC_SEQ_CST);
	close(fd);
}

static void *run_own(void *arg)
{
	struct worker *worker = arg;

	while (!over) {
		struct timespec pause = {
			.tv_nsec = (long)random_below(&worker->state, 50000000),
		};

		own_file(worker);
		if (briefly)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static int shared_fd;

static void *run_shared(void *arg)
{
	uint64_t state = ((struct worker *)arg)->state;

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

/*
 * Unload the module whenever the device is not open, and load the module again.
 * The sessions show if the module was unloaded although a file was open. Such
 * an unload need not cause a crash, because the module is then loaded at the
 * same address.
 */
static void *run_loader(void *module)
{
	unsigned long before[worker_count];

	while (!over) {
		struct timespec pause = { .tv_nsec = 2000000 };

		for (unsigned int i = 0; i < worker_count; i++)
			before[i] = __atomic_load_n(&workers[i].session,
						    __ATOMIC_SEQ_CST);
		if (!unload_module()) {
			loads++;
			for (unsigned int i = 0; i < worker_count; i++)
				if (before[i] % 2 &&
				    __atomic_load_n(&workers[i].session,
						    __ATOMIC_SEQ_CST) ==
					    before[i])
					wrong("unloaded while a file was open");
			if (load_module(module))
				wrong("load during concurrent calls: %s",
				      strerror(errno));
		}
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void run_threads(unsigned int count, unsigned int seconds,
			uint64_t *state, void *(*body)(void *), char *module)
{
	pthread_t *threads = calloc(count, sizeof(*threads)), loader;

	workers = calloc(count, sizeof(*workers));
	if (!threads || !workers)
		give_up("memory");
	worker_count = count;
	over = false;
	for (unsigned int i = 0; i < count; i++) {
		workers[i].state = random_next(state);
		if (pthread_create(&threads[i], NULL, body, &workers[i]))
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
	free(workers);
}

void do_concurrent(char **args)
{
	uint64_t state = strtoull(args[0], NULL, 10);
	unsigned int seconds = (unsigned int)atoi(args[1]);
	unsigned int threads = (unsigned int)atoi(args[2]);

	top = strtoull(args[3], NULL, 10);
	max_n = strtoull(args[4], NULL, 10);
	run_threads(threads, seconds / 3, &state, run_own, NULL);
	shared_fd = must_open_device();
	run_threads(threads, (seconds + 1) / 3, &state, run_shared, NULL);
	close(shared_fd);
	briefly = true;
	run_threads(threads, (seconds + 2) / 3, &state, run_own, args[5]);
	printf("calls=%lu loads=%lu\n", calls, loads);
}
