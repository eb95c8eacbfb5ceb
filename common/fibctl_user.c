// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * fibctl user: measure read() by the clock of the calling process and by the
 * kernel's clock.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "fibctl.h"

/* Bytes of stack to touch before the timed calls, which use fewer. */
#define STACK_BYTES (256 * 1024)

struct trip {
	double user; /* whole read(), in ns by the user's clock */
	double compute; /* time of write(), by the kernel's clock */
	double decimal; /* time of the digits, by the kernel's clock */
	double difference; /* user - compute - decimal */
	double faults; /* page faults during the read() */
};

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/*
 * Write to the stack below the caller's frame, so that no timed call extends
 * it.
 */
static void __attribute__((noinline)) touch_stack(void)
{
	volatile char room[STACK_BYTES];

	for (size_t i = 0; i < sizeof(room); i += 1024)
		room[i] = 0;
}

/* Return 0 or errno. */
static int one_trip(int fd, uint64_t n, char *buffer, size_t size,
		    struct trip *trip)
{
	struct fibdrv_measure m = { .size = sizeof(m), .n = n, .repeat = 1 };
	int64_t begin, end;
	ssize_t count, ns;
	long before;

	before = faults();
	begin = now();
	count = read(fd, buffer, size);
	end = now();
	if (count < 0)
		return errno;
	trip->faults = (double)(faults() - before);
	ns = write(fd, "", 0);
	if (ns < 0)
		return errno;
	if (!ns)
		return ENODATA;
	/* Only this request returns the time of the conversion alone. */
	if (ioctl(fd, FIBDRV_IOC_MEASURE, &m))
		return errno;
	trip->user = (double)(end - begin);
	trip->compute = (double)ns;
	trip->decimal = (double)m.decimal_ns;
	trip->difference = trip->user - trip->compute - trip->decimal;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Return the median, over trips 1 to @count - 1, of the field at @offset. */
static double median(const struct trip *trips, size_t count, size_t offset,
		     double *sorted)
{
	for (size_t i = 1; i < count; i++)
		memcpy(&sorted[i - 1], (const char *)&trips[i] + offset,
		       sizeof(*sorted));
	count--;
	qsort(sorted, count, sizeof(*sorted), by_value);
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

static void print_row(const char *name, const struct trip *t)
{
	printf("%-8s %14.0f %14.0f %14.0f %14.0f %8.0f\n", name, t->user,
	       t->compute, t->decimal, t->difference, t->faults);
}

static void print_table(const struct trip *trips, size_t count, double *sorted)
{
	struct trip middle;

#define MEDIAN(field)   \
	(middle.field = \
		 median(trips, count, offsetof(struct trip, field), sorted))
	MEDIAN(user);
	MEDIAN(compute);
	MEDIAN(decimal);
	MEDIAN(difference);
	MEDIAN(faults);
#undef MEDIAN
	printf("%-8s %14s %14s %14s %14s %8s\n", "ns", "read()", "compute",
	       "decimal", "difference", "faults");
	print_row("first", &trips[0]);
	print_row("median", &middle);
}

static double clock_cost(void)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 100; i++) {
		int64_t begin = now(), cost = now() - begin;

		if (cost < least)
			least = cost;
	}
	return (double)least;
}

int fibctl_user(int fd, uint64_t n, size_t count, bool lock)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* F(n) has fewer than n / 4 + 1 digits */
	size_t size = (n / 4 + 2 + page - 1) / page * page;
	struct trip *trips = NULL;
	double *sorted = NULL;
	char *buffer;
	int err = 0;

	/* Check n before the allocation, which is large for a large n. */
	if (lseek(fd, (off_t)n, SEEK_SET) < 0)
		return errno;
	/* New pages: the first read() touches them if @lock is not set. */
	buffer = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED)
		return errno;
	trips = calloc(count, sizeof(*trips));
	sorted = calloc(count, sizeof(*sorted));
	if (!trips || !sorted) {
		err = ENOMEM;
		goto out;
	}
	if (lock) {
		if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
			err = errno;
			goto out;
		}
		memset(buffer, 0xa5, size);
		memset(trips, 0xa5, count * sizeof(*trips));
		touch_stack();
		now(); /* also map the page that the clock uses */
	}
	for (size_t i = 0; i < count && !err; i++)
		err = one_trip(fd, n, buffer, size, &trips[i]);
	if (!err) {
		print_table(trips, count, sorted);
		printf("calls %zu, memory %s, reading the clock twice takes %.0f ns\n",
		       count, lock ? "locked" : "not locked", clock_cost());
	}
out:
	free(sorted);
	free(trips);
	munmap(buffer, size);
	return err;
}
