// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Fault injection: fail the first allocation of a call, then the second, and so
 * on until the call makes no more allocations.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault_injection.h"
#include "fibstress.h"

static unsigned long refused;

enum { READ, WRITE, MEASURE };

/*
 * Make one call for F(n) in which allocation k fails. Complain if the result is
 * wrong. Return 0 if that allocation failed; if the call made too few
 * allocations, return the number of missing ones.
 */
static unsigned int failing_call(int fd, int what, uint64_t n, unsigned int k,
				 char *digits, size_t size)
{
	struct fibdrv_measure m = {
		.size = sizeof(m),
		.n = n,
		.repeat = 3,
	};
	ssize_t ret;
	unsigned int left;
	bool right;
	int err;

	memset(digits, 0, size);
	fault_arm(k);
	if (what == READ)
		ret = pread(fd, digits, size, (off_t)n);
	else if (what == WRITE)
		ret = pwrite(fd, digits, 1, (off_t)n);
	else
		ret = ioctl(fd, FIBDRV_IOC_MEASURE, &m);
	err = errno;
	left = fault_disarm();

	refused += ret < 0;
	if (ret < 0)
		right = !left && err == ENOMEM && !digits[0] && !m.digest;
	else if (what == READ)
		right = fib_right(n, digits, ret);
	else if (what == WRITE)
		right = ret >= 1;
	else
		right = m.digits == 3 * fib_digits(n);
	if (!right)
		wrong("F(%llu), allocation %u fails: %s", (unsigned long long)n,
		      k, ret < 0 ? strerror(err) : "a wrong answer");
	return left;
}

void do_fail(char **args)
{
	int what = !strcmp(args[0], "read")  ? READ :
		   !strcmp(args[0], "write") ? WRITE :
					       MEASURE;
	uint64_t next = strtoull(args[1], NULL, 10);
	unsigned int samples = (unsigned int)atoi(args[2]);
	uint64_t state = strtoull(args[3], NULL, 10);
	int fd = must_open_device();
	unsigned long failures = 0, most = 0;

	fault_begin();
	for (args += 4; *args; args++) {
		uint64_t n = strtoull(*args, NULL, 10);
		size_t size = fib_digits(n) + 1;
		char *digits = malloc(size);
		unsigned int count, stride = 1, k;

		if (!digits)
			give_up("memory");
		count = FAULT_NEVER -
			failing_call(fd, what, n, FAULT_NEVER, digits, size);
		if (samples && count > samples)
			stride = count / samples;
		/* One random allocation of each stride fails. */
		for (unsigned int begin = 1;; begin += stride) {
			k = begin + (unsigned int)random_below(&state, stride);
			if (failing_call(fd, what, n, k, digits, size))
				break;
			failures++;
			read_right(fd, next, "after a failed allocation");
		}
		read_right(fd, n, "after all failures");
		if (most < count)
			most = count;
		free(digits);
	}
	printf("failures=%lu refused=%lu most=%lu\n", failures, refused, most);
}

/*
 * Make allocations fail at random. Only this test can make a second allocation
 * fail after the first one, for example on an error path or in the fallback of
 * kvmalloc.
 */
void do_random_failures(char **args)
{
	uint64_t state = strtoull(args[0], NULL, 10);
	unsigned long count = strtoul(args[1], NULL, 10), failed = 0;
	uint64_t n = strtoull(args[3], NULL, 10);
	size_t size = fib_digits(n) + 1;
	char *digits = malloc(size);
	int fd = must_open_device();

	if (!digits)
		give_up("memory");
	fault_begin();
	fault_random(args[2]);
	for (unsigned long i = 0; i < count; i++) {
		uint64_t some = random_log(&state, n);
		ssize_t ret;
		int err;

		memset(digits, 0, size);
		fault_this_process(true);
		ret = pread(fd, digits, size, (off_t)some);
		err = errno;
		fault_this_process(false);
		if (ret >= 0 ? !fib_right(some, digits, ret) : err != ENOMEM)
			wrong("F(%llu) without memory: %s",
			      (unsigned long long)some,
			      ret < 0 ? strerror(err) : "a wrong answer");
		failed += ret < 0;
	}
	fault_random("0");
	read_right(fd, n, "with memory again");
	printf("reads=%lu failures=%lu\n", count, failed);
}

/* Complain if a failed load has leaked a resource of the module. */
static void check_gone(unsigned int k)
{
	char text[8192];
	int fd;
	ssize_t count;

	if (!access(FIBDRV_DEVICE, F_OK))
		wrong("load, allocation %u fails: %s exists", k, FIBDRV_DEVICE);
	if (!access("/sys/class/fibonacci", F_OK))
		wrong("load, allocation %u fails: the class exists", k);
	fd = open("/proc/devices", O_RDONLY | O_CLOEXEC);
	count = read(fd, text, sizeof(text) - 1);
	text[count < 0 ? 0 : count] = '\0';
	if (strstr(text, "fibonacci"))
		wrong("load, allocation %u fails: the device number is still in use",
		      k);
	close(fd);
}

void do_load_failures(char **args)
{
	bool failed = true;
	unsigned int k;

	fault_begin();
	for (k = 1; failed; k++) {
		int ret, err, fd;

		fd = open(args[0], O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			give_up(args[0]);
		fault_arm(k);
		ret = (int)syscall(SYS_finit_module, fd, "", 0);
		err = errno;
		failed = !fault_disarm();
		close(fd);
		if (ret) {
			refused++;
			if (!failed)
				wrong("load: %s", strerror(err));
			check_gone(k);
			continue;
		}
		/*
		 * Some failures are harmless, for example a failure of the
		 * uevent for udev.
		 */
		fd = open_device(O_RDWR);
		if (fd < 0 && errno == ENOENT && failed) {
			/* devtmpfs had no memory for the device node. */
		} else if (fd < 0) {
			wrong("load, allocation %u fails: open: %s", k,
			      strerror(errno));
		} else {
			read_right(fd, 90,
				   "after a load with a failed allocation");
			close(fd);
		}
		if (unload_module())
			wrong("unload after a load with a failed allocation: %s",
			      strerror(errno));
	}
	printf("failures=%u refused=%lu\n", k - 2, refused);
}

void do_reload(char **args)
{
	unsigned long count = strtoul(args[1], NULL, 10);

	for (unsigned long i = 0; i < count; i++) {
		int fd;

		if (load_module(args[0])) {
			wrong("load %lu: %s", i + 1, strerror(errno));
			break;
		}
		fd = open_device(O_RDWR);
		if (fd < 0) {
			wrong("load %lu: open: %s", i + 1, strerror(errno));
		} else {
			read_right(fd, 90, "after a load");
			close(fd);
		}
		if (unload_module()) {
			wrong("unload %lu: %s", i + 1, strerror(errno));
			break;
		}
	}
	printf("loads=%lu\n", count);
}
