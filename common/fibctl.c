// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * fibctl: ask /dev/fibonacci from the command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fibctl.h"

static const char usage[] =
	"usage: fibctl read N...           the digits of F(N), one number a line\n"
	"       fibctl time N [COUNT]      nanoseconds to compute F(N), by write()\n"
	"       fibctl measure N [REPEAT]  a measurement inside the kernel, per call\n"
	"       fibctl user N [COUNT] [--lock]  read() by the user's clock and the kernel's\n"
	"       fibctl info                stage, largest N, is the clock on\n"
	"       fibctl batch               requests from standard input, see fibctl.h\n";

/* Print one line: the problem, and an action if fibctl knows one. */
static int complain(const char *what, int err)
{
	const char *advice = "";

	if (err == ENOENT || err == ENXIO)
		advice =
			" (no stage is loaded: insmod one, or make stage=1 load)";
	else if (err == EACCES)
		advice = " (the device is root's: become root, or chmod it)";
	else if (err == EINVAL)
		advice =
			" (N is larger than this stage's max_n: see fibctl info)";
	else if (err == EIO)
		advice = " (make dmesg shows the message of the driver)";
	fprintf(stderr, "fibctl: %s: %s%s\n", what, strerror(err), advice);
	return 1;
}

static bool parse_number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno)
		return true;
	fprintf(stderr, "fibctl: '%s' is not a number of 0 or more\n", text);
	return false;
}

/*
 * Store the digits of F(@n) in a new block. Return 0 or an errno value; after
 * an error, no block is allocated.
 */
static int new_digits(int fd, uint64_t n, char **digits, ssize_t *count)
{
	size_t size = fibctl_room(n);

	/* Check n before the allocation, which is large for a large n. */
	if (lseek(fd, (off_t)n, SEEK_SET) < 0)
		return errno;
	*digits = malloc(size);
	if (!*digits)
		return ENOMEM;
	*count = pread(fd, *digits, size, (off_t)n);
	if (*count >= 0)
		return 0;
	free(*digits);
	return errno;
}

static int do_read(int fd, char **args)
{
	for (; *args; args++) {
		ssize_t count;
		char *digits;
		uint64_t n;
		int err;

		if (!parse_number(*args, &n))
			return 2;
		err = new_digits(fd, n, &digits, &count);
		if (err)
			return complain(*args, err);
		fwrite(digits, 1, (size_t)count, stdout);
		putchar('\n');
		free(digits);
	}
	return 0;
}

/* write() does not measure, because ktime_measure is 0. */
static int no_clock(void)
{
	fputs("fibctl: the clock is off: echo 1 > " FIBDRV_SYSFS
	      "/ktime_measure\n",
	      stderr);
	return 1;
}

static int do_time(int fd, char **args)
{
	uint64_t n, count = 1;

	if (!parse_number(args[0], &n) ||
	    (args[1] && !parse_number(args[1], &count)))
		return 2;
	if (lseek(fd, (off_t)n, SEEK_SET) < 0)
		return complain(args[0], errno);
	while (count--) {
		ssize_t ns = write(fd, "", 0);

		if (ns < 0)
			return complain("write", errno);
		if (!ns)
			return no_clock();
		printf("%zd\n", ns);
	}
	return 0;
}

/*
 * Without REPEAT, a call is repeated MEASURE_REPEAT times, or for about
 * MEASURE_NS if that is shorter.
 */
#define MEASURE_REPEAT 1000
#define MEASURE_NS 500000000

static int measure(int fd, struct fibdrv_measure *m, uint64_t n,
		   uint64_t repeat)
{
	*m = (struct fibdrv_measure){ .size = sizeof(*m), .n = n };
	m->repeat = (uint32_t)repeat;
	return ioctl(fd, FIBDRV_IOC_MEASURE, m);
}

static int do_measure(int fd, char **args)
{
	uint64_t n, repeat = 1, ns;
	struct fibdrv_measure m;

	if (!parse_number(args[0], &n) ||
	    (args[1] && !parse_number(args[1], &repeat)))
		return 2;
	if (!repeat || repeat > FIBDRV_MAX_REPEAT) {
		fprintf(stderr, "fibctl: REPEAT is 1 to %u\n",
			FIBDRV_MAX_REPEAT);
		return 2;
	}
	if (measure(fd, &m, n, repeat))
		return complain(args[0], errno);
	ns = m.compute_ns + m.decimal_ns;
	if (!args[1] && ns < MEASURE_NS) {
		repeat = ns ? MEASURE_NS / ns : MEASURE_REPEAT;
		if (repeat > MEASURE_REPEAT)
			repeat = MEASURE_REPEAT;
		if (measure(fd, &m, n, repeat))
			return complain(args[0], errno);
	}
	printf("compute  %12.1f ns %12.1f cycles %8.1f allocations\n",
	       (double)m.compute_ns / m.repeat,
	       (double)m.compute_cycles / m.repeat,
	       (double)m.compute_allocations / m.repeat);
	printf("decimal  %12.1f ns %12.1f cycles %8.1f allocations\n",
	       (double)m.decimal_ns / m.repeat,
	       (double)m.decimal_cycles / m.repeat,
	       (double)m.decimal_allocations / m.repeat);
	printf("F(%" PRIu64 "): %" PRIu64 " digits, %" PRIu64
	       " limbs, peak %" PRIu64 " bytes\n",
	       (uint64_t)m.n, (uint64_t)m.digits / m.repeat, (uint64_t)m.limbs,
	       (uint64_t)m.peak_bytes);
	return 0;
}

static int do_user(int fd, char **args)
{
	uint64_t n, count = 101;
	bool lock = false;
	int err;

	if (!parse_number(args[0], &n))
		return 2;
	for (int i = 1; args[i]; i++) {
		if (!strcmp(args[i], "--lock"))
			lock = true;
		else if (!parse_number(args[i], &count))
			return 2;
	}
	if (count < 2 || count > FIBDRV_MAX_REPEAT) {
		fprintf(stderr, "fibctl: COUNT is 2 to %u\n",
			FIBDRV_MAX_REPEAT);
		return 2;
	}
	err = fibctl_user(fd, n, (size_t)count, lock);
	if (err == ENODATA)
		return no_clock();
	return err ? complain(args[0], err) : 0;
}

static int do_info(void)
{
	static const char *const names[] = { "stage", "max_n",
					     "ktime_measure" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[sizeof(FIBDRV_SYSFS) + 32], value[32];
		FILE *file;

		snprintf(path, sizeof(path), FIBDRV_SYSFS "/%s", names[i]);
		file = fopen(path, "r");
		if (!file || !fgets(value, sizeof(value), file)) {
			int err = errno;

			if (file)
				fclose(file);
			return complain(path, err);
		}
		printf("%s %s", names[i], value);
		fclose(file);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	int fd, ret = -1;

	if (!strcmp(verb, "batch") && argc == 2)
		return fibctl_batch();
	if (!strcmp(verb, "info") && argc == 2)
		return do_info();
	if (!strcmp(verb, "help") || !strcmp(verb, "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc < 3 ||
	    (strcmp(verb, "read") && strcmp(verb, "time") &&
	     strcmp(verb, "measure") && strcmp(verb, "user")) ||
	    (strcmp(verb, "read") && argc > 4 + !strcmp(verb, "user"))) {
		fputs(usage, stderr);
		return 2;
	}

	fd = open(FIBDRV_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return complain(FIBDRV_DEVICE, errno);
	if (!strcmp(verb, "read"))
		ret = do_read(fd, argv + 2);
	else if (!strcmp(verb, "time"))
		ret = do_time(fd, argv + 2);
	else if (!strcmp(verb, "user"))
		ret = do_user(fd, argv + 2);
	else
		ret = do_measure(fd, argv + 2);
	close(fd);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "fibctl: the output cannot be written\n");
		return 1;
	}
	return ret;
}
