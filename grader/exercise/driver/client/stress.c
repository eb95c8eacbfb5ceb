// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Stress tests for the debug kernel: many calls of several threads, and loads
 * and opens with failed allocations in the kernel and in the driver.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fault_injection.h"
#include "first.h"
#include "firstctl.h"

#define THREADS 4
#define MOST_ALLOCATIONS 500

struct caller {
	unsigned int seed;
	unsigned int seconds;
	int shared; /* an open file that all callers share */
	unsigned long calls;
};

static void wrong(const char *what, unsigned int k, long ret)
{
	printf("%s, allocation %u fails: %s\n", what, k, strerror((int)-ret));
	exit(1);
}

static void attribute(const char *name, int flags, const char *text)
{
	int fd = open_attribute(name, flags);
	char buffer[32];

	if (fd < 0)
		return;
	if (text)
		(void)!write(fd, text, strlen(text));
	else
		(void)!read(fd, buffer, sizeof(buffer));
	close(fd);
}

/* Make a random call, valid or not. Its result is not checked. */
static void one_call(unsigned int *seed, int fd)
{
	static const char *const numbers[] = { "0",  "7\n", "93", "94",
					       "-1", "x",   "" };
	const char *text = numbers[rand_r(seed) % 7];
	struct first_info info;
	char buffer[512];

	switch (rand_r(seed) % 10) {
	case 0:
	case 1:
		(void)!read(fd, buffer, rand_r(seed) % sizeof(buffer));
		break;
	case 2:
	case 3:
		(void)!write(fd, text, strlen(text));
		break;
	case 4:
		lseek(fd, rand_r(seed) % 3000 - 100, rand_r(seed) % 4);
		break;
	case 5:
		(void)!pread(fd, rand_r(seed) % 2 ? buffer : NULL, 100,
			     rand_r(seed) % 3000);
		break;
	case 6:
		ioctl(fd, FIRST_IOC_INFO, rand_r(seed) % 4 ? &info : NULL);
		break;
	case 7:
		ioctl(fd, rand_r(seed) % 8 ? FIRST_IOC_INFO : FIRST_IOC_CLEAR,
		      &info);
		break;
	case 8:
		attribute(rand_r(seed) % 2 ? "lines" : "calls", O_RDONLY, NULL);
		break;
	default:
		attribute("calls", O_WRONLY, text);
	}
}

static void *make_calls(void *argument)
{
	struct caller *s = argument;
	time_t end = time(NULL) + s->seconds;

	while (time(NULL) < end) {
		int fd = open(FIRST_DEVICE, O_RDWR | O_CLOEXEC);

		for (int i = 0; i < 100; i++)
			one_call(&s->seed,
				 rand_r(&s->seed) % 4 ? fd : s->shared);
		s->calls += 100;
		close(fd);
	}
	return NULL;
}

static int do_concurrent(unsigned int seed, unsigned int seconds)
{
	struct caller callers[THREADS];
	pthread_t threads[THREADS];
	unsigned long calls = 0;
	int shared = open(FIRST_DEVICE, O_RDWR | O_CLOEXEC);

	for (unsigned int i = 0; i < THREADS; i++) {
		callers[i] = (struct caller){ seed + i, seconds, shared, 0 };
		if (pthread_create(&threads[i], NULL, make_calls, &callers[i]))
			return 2;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		calls += callers[i].calls;
	}
	close(shared);
	printf("calls=%lu\n", calls);
	return 0;
}

/* Make each allocation of a load fail in turn. */
static int do_refill(const char *path)
{
	unsigned int k, refused = 0;
	int failed = 1;

	fault_begin();
	for (k = 1; failed && k < MOST_ALLOCATIONS; k++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC), ret, err;

		fault_arm(k);
		ret = (int)syscall(SYS_finit_module, fd, "", 0);
		err = errno;
		failed = !fault_disarm();
		close(fd);
		if (ret && !failed)
			wrong("load", k, -err);
		refused += !!ret;
		if (!ret && syscall(SYS_delete_module, "first", O_NONBLOCK))
			wrong("unload after a load", k, -errno);
		if (!access(FIRST_DEVICE, F_OK) ||
		    !access("/sys/class/first", F_OK) ||
		    !access("/sys/class/misc/first", F_OK)) {
			printf("load, allocation %u fails: something is left\n",
			       k);
			return 1;
		}
	}
	printf("failures=%u refused=%u\n", k - 2, refused);
	return 0;
}

/* Make each allocation of an open fail in turn. */
static int do_reopen(void)
{
	unsigned int k, refused = 0;
	int failed = 1;

	fault_begin();
	for (k = 1; failed && k < MOST_ALLOCATIONS; k++) {
		int fd, err;

		fault_arm(k);
		fd = open(FIRST_DEVICE, O_RDWR | O_CLOEXEC);
		err = errno;
		failed = !fault_disarm();
		if (fd < 0 && (!failed || err != ENOMEM))
			wrong("open", k, -err);
		refused += fd < 0;
		if (fd >= 0)
			close(fd);
	}
	printf("failures=%u refused=%u\n", k - 2, refused);
	return 0;
}

int stress(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "concurrent"))
		return do_concurrent((unsigned int)atoi(argv[2]),
				     (unsigned int)atoi(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "load-failure"))
		return do_refill(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "open-failure"))
		return do_reopen();
	return -1;
}
