/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Functions for all test programs: check a condition, make a stack, run a test
 * by its name, and keep a record of all checks that succeeded in this process
 * and its children. The program prints the record at the end, because its exit
 * status proves nothing: a module could set it.
 */
#ifndef FIBERS_TRY_H
#define FIBERS_TRY_H

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_record.h"

/* Some programs also test the library without a kernel module. */
#ifdef FIBERS_USERSPACE
#include "userspace.h"
#else
#include "fibers_lib.h"
#endif

#define STACK (16 << 10)

/* Shared with child processes; NULL if no record is requested. */
static struct test_record *fiber_test_record;

static inline void fiber_test_counts(void)
{
	if (fiber_test_record)
		test_record_check(fiber_test_record, 0);
}

/* End the whole program if a check fails, in any process, thread or fiber. */
#define CHECK(claim)                                                   \
	do {                                                           \
		if (!(claim))                                          \
			fiber_test_failed(__FILE__, __LINE__, #claim); \
		fiber_test_counts();                                   \
	} while (0)

#define SAME(expression, wanted)                                             \
	do {                                                                 \
		long fiber_test_is = (long)(expression),                     \
		     fiber_test_wants = (long)(wanted);                      \
		if (fiber_test_is != fiber_test_wants)                       \
			fiber_test_differs(__FILE__, __LINE__, #expression,  \
					   fiber_test_is, fiber_test_wants); \
		fiber_test_counts();                                         \
	} while (0)

static inline const char *fiber_test_short(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static inline __attribute__((noreturn)) void
fiber_test_failed(const char *file, int line, const char *claim)
{
	printf("%s:%d: false: %s\n", fiber_test_short(file), line, claim);
	fflush(stdout);
	_exit(1);
}

static inline __attribute__((noreturn)) void
fiber_test_differs(const char *file, int line, const char *what, long is,
		   long wants)
{
	printf("%s:%d: %s is %ld%s%s%s, not %ld\n", fiber_test_short(file),
	       line, what, is, is < 0 && is > -200 ? " (" : "",
	       is < 0 && is > -200 ? strerror((int)-is) : "",
	       is < 0 && is > -200 ? ")" : "", wants);
	fflush(stdout);
	_exit(1);
}

static inline void *fiber_test_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

/*
 * Begin the record before main() if FIBER_TEST_RECORD is in the environment,
 * which means that stdin has a nonce.
 */
__attribute__((constructor)) static void fiber_test_record_begin(void)
{
	char nonce[17] = "";
	struct test_record *record;

	if (!getenv("FIBER_TEST_RECORD") || read(0, nonce, sizeof(nonce)) < 0)
		return;
	record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (record == MAP_FAILED)
		return;
	test_record_begin(record, nonce);
	memset(nonce, 0, sizeof(nonce));
	fiber_test_record = record;
}

/* Print the record as the last output of main(). Return its exit status. */
static inline int fiber_test_end(void)
{
	if (fiber_test_record)
		printf(TEST_RECORD_FORMAT,
		       TEST_RECORD_ARGUMENTS(fiber_test_record));
	fflush(stdout);
	return 0;
}

/* Create a fiber with its own stack. */
static inline long fiber_test_fiber(void (*entry)(void *), void *argument)
{
	long id =
		fiber_create(fiber_test_memory(STACK), STACK, entry, argument);

	if (id < 0)
		fiber_test_differs("fiber_create", 0, "fiber_create", id, 1);
	return id;
}

/* Convert this thread to a fiber. */
static inline long fiber_test_convert(void)
{
	long id = fiber_convert();

	if (id < 0)
		fiber_test_differs("fiber_convert", 0, "fiber_convert", id, 1);
	return id;
}

static inline pthread_t fiber_test_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;

	SAME(pthread_create(&thread, NULL, run, argument), 0);
	return thread;
}

/* Run a function in a child process. Return its wait status. */
static inline int fiber_test_child(void (*run)(void))
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		run();
		_exit(0);
	}
	SAME(waitpid(child, &status, 0), child);
	return status;
}

/*
 * Return how many KB of memory the kernel has allocated for itself; 0 for the
 * library without a module.
 */
static inline long fiber_test_kernel_memory(void)
{
	long sum = 0;

#ifndef FIBERS_USERSPACE
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	long size;

	/* No check is counted here, because the number of calls may vary. */
	if (!file)
		fiber_test_failed(__FILE__, __LINE__, "/proc/meminfo");
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Slab: %ld", &size) == 1 ||
		    sscanf(line, "VmallocUsed: %ld", &size) == 1)
			sum += size;
	fclose(file);
	if (sum <= 0)
		fiber_test_failed(__FILE__, __LINE__, "sum > 0");
#endif
	return sum;
}

struct test_function {
	const char *name;
	void (*run)(void);
};

/* Run the named tests, or all, each in a child process. */
static inline int fiber_test_main(int argc, char **argv,
				  const struct test_function *tests)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (; tests->name; tests++) {
		bool wanted = argc < 2;
		int status;

		for (int i = 1; i < argc; i++)
			wanted |= !strcmp(argv[i], tests->name);
		if (!wanted)
			continue;
		status = fiber_test_child(tests->run);
		if (status) {
			printf("%s: exit %d, signal %d\n", tests->name,
			       WEXITSTATUS(status), WTERMSIG(status));
			return 1;
		}
	}
	return fiber_test_end();
}

#endif
