// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * fibstress: the main program, and the functions that all verbs share; see
 * fibstress.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fibstress.h"
#include "test_support.h"

#define PRIME ((1ULL << 61) - 1)
#define ENOUGH 10

static int complaints;

void wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("wrong: ", stdout);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
	va_end(args);
	if (__atomic_add_fetch(&complaints, 1, __ATOMIC_RELAXED) >= ENOUGH)
		_exit(1);
}

int complained(void)
{
	return complaints != 0;
}

void give_up(const char *what)
{
	printf("fibstress: %s: %s\n", what, strerror(errno));
	exit(2);
}

uint64_t now(void)
{
	return test_nanoseconds();
}

uint64_t random_next(uint64_t *state)
{
	return test_random(state);
}

uint64_t random_below(uint64_t *state, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)random_next(state) * bound >> 64);
}

uint64_t random_log(uint64_t *state, uint64_t top)
{
	double exponent = (double)random_next(state) * 0x1p-64;

	return (uint64_t)(pow((double)top + 1, exponent) + 0.5) - 1;
}

/*
 * F(n) is phi^n / sqrt(5), rounded. Both have the same number of digits,
 * because phi^n / sqrt(5) is never that close to a power of ten.
 */
size_t fib_digits(uint64_t n)
{
	const long double log_phi = 0.208987640249978733769L;
	const long double log_sqrt5 = 0.349485002168009402393L;

	if (n < 7)
		return 1;
	return (size_t)floorl((long double)n * log_phi - log_sqrt5) + 1;
}

static uint64_t times(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b % PRIME);
}

/* Return F(n) modulo PRIME. */
static uint64_t fib_residue(uint64_t n)
{
	uint64_t a = 0, b = 1; /* F(k), F(k + 1) */

	for (int i = 63; i >= 0; i--) {
		uint64_t even = times(a, (2 * b + PRIME - a) % PRIME);
		uint64_t odd = (times(a, a) + times(b, b)) % PRIME;

		a = n >> i & 1 ? odd : even;
		b = n >> i & 1 ? (even + odd) % PRIME : odd;
	}
	return a;
}

bool fib_right(uint64_t n, const char *digits, ssize_t count)
{
	uint64_t residue = 0;

	if (count < 0 || (size_t)count != fib_digits(n))
		return false;
	for (ssize_t i = 0; i < count; i++) {
		if (digits[i] < '0' || digits[i] > '9')
			return false;
		residue = (times(residue, 10) + (uint64_t)(digits[i] - '0')) %
			  PRIME;
	}
	return residue == fib_residue(n);
}

bool read_right(int fd, uint64_t n, const char *when)
{
	size_t size = fib_digits(n) + 1;
	char *digits = malloc(size);
	ssize_t ret;
	bool right;

	if (!digits)
		give_up("memory");
	memset(digits, 0, size);
	ret = pread(fd, digits, size, (off_t)n);
	right = fib_right(n, digits, ret);
	if (ret < 0)
		wrong("%s, read of F(%llu): %s", when, (unsigned long long)n,
		      strerror(errno));
	else if (!right)
		wrong("%s, read of F(%llu) gives %.*s", when,
		      (unsigned long long)n, ret < 40 ? (int)ret : 40, digits);
	free(digits);
	return right;
}

int open_device(int flags)
{
	return open(FIBDRV_DEVICE, flags | O_CLOEXEC);
}

int must_open_device(void)
{
	int fd = open_device(O_RDWR);

	if (fd < 0)
		give_up(FIBDRV_DEVICE);
	return fd;
}

int load_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret, err;

	if (fd < 0)
		give_up(path);
	ret = (int)syscall(SYS_finit_module, fd, "", 0);
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

int unload_module(void)
{
	return (int)syscall(SYS_delete_module, "fibdrv", O_NONBLOCK);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(char **args);
		int least;
	} verbs[] = {
		{ "calls", do_calls, 4 },
		{ "fail", do_fail, 5 },
		{ "random-failures", do_random_failures, 4 },
		{ "load-failures", do_load_failures, 1 },
		{ "reload", do_reload, 2 },
		{ "kill", do_kill, 3 },
		{ "concurrent", do_concurrent, 6 },
	};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (argc < 2 + verbs[i].least || strcmp(argv[1], verbs[i].name))
			continue;
		verbs[i].run(argv + 2);
		return complained();
	}
	puts("fibstress: see fibstress.h");
	return 2;
}
