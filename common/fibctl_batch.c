// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * fibctl batch: see fibctl.h.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fibctl.h"

#define MAX_FILES 32
#define MAX_WORDS 32

/* Memory is filled with this beforehand: no digit, so a change is seen. */
#define FILL 0xa5
/* How far behind a buffer a stray write is looked for. */
#define BEHIND 4096

static int files[MAX_FILES];

struct request {
	int count;
	char *word[MAX_WORDS + 1];
};

static long long number(const struct request *r, int i)
{
	return i < r->count ? strtoll(r->word[i], NULL, 0) : 0;
}

/* The file of request word 1; -1, which no call takes, when H is none. */
static int file(const struct request *r)
{
	long long h = number(r, 1);

	return h >= 0 && h < MAX_FILES ? files[h] : -1;
}

static void answer(long long ret)
{
	printf("%lld\n", ret < 0 ? (long long)-errno : ret);
}

static void do_open(const struct request *r)
{
	const char *mode = r->count > 2 ? r->word[2] : "rw";
	long long h = number(r, 1);
	int flags = O_RDWR;

	if (h < 0 || h >= MAX_FILES || files[h] >= 0) {
		errno = EBADF;
		answer(-1);
		return;
	}
	if (!strcmp(mode, "r"))
		flags = O_RDONLY;
	else if (!strcmp(mode, "w"))
		flags = O_WRONLY;
	files[h] = open(FIBDRV_DEVICE, flags | O_CLOEXEC);
	answer(files[h] < 0 ? -1 : 0);
}

static void do_close(const struct request *r)
{
	int ret = close(file(r));

	if (!ret)
		files[number(r, 1)] = -1;
	answer(ret);
}

static void print_data(const unsigned char *data, ssize_t count)
{
	if (count <= 0)
		putchar('-');
	for (ssize_t i = 0; i < count; i++) {
		if (isdigit(data[i]))
			putchar(data[i]);
		else
			printf("\\x%02x", data[i]);
	}
	putchar('\n');
}

/* A whole number of pages with room for @size bytes and what lies behind. */
static size_t room_for(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + BEHIND + page - 1) / page * page;
}

static void do_read(const struct request *r, int has_offset)
{
	size_t size = (size_t)number(r, 2);
	const char *where =
		r->count > 3 + has_offset ? r->word[3 + has_offset] : "good";
	size_t room = room_for(size), touched = 0;
	unsigned char *memory, *buffer;
	ssize_t ret;
	int err;

	memory = mmap(NULL, room, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		answer(-1);
		return;
	}
	memset(memory, FILL, room);
	buffer = memory;
	if (!strcmp(where, "null")) {
		buffer = NULL;
	} else if (!strcmp(where, "half")) {
		/* The page after the first is taken away; half is before it. */
		size_t page = (size_t)sysconf(_SC_PAGESIZE);

		munmap(memory + page, room - page);
		room = page;
		buffer = memory + page - (size / 2 < page ? size / 2 : page);
	}

	if (has_offset)
		ret = pread(file(r), buffer, size, (off_t)number(r, 3));
	else
		ret = read(file(r), buffer, size);
	err = errno;
	for (size_t i = 0; i < room; i++)
		touched += memory[i] != FILL;
	printf("%zd %zu ", ret < 0 ? (ssize_t)-err : ret, touched);
	print_data(buffer, ret);
	munmap(memory, room);
}

static void do_write(const struct request *r, int has_offset)
{
	size_t size = (size_t)number(r, 2);
	char *data = calloc(1, size + 1);

	if (!data) {
		answer(-1);
		return;
	}
	if (has_offset)
		answer(pwrite(file(r), data, size, (off_t)number(r, 3)));
	else
		answer(write(file(r), data, size));
	free(data);
}

#define FIELD(name)                                                \
	{                                                          \
#name, offsetof(struct fibdrv_measure, name),      \
			sizeof(((struct fibdrv_measure *)0)->name) \
	}

static const struct field {
	const char *name;
	size_t offset;
	size_t size;
} fields[] = {
	FIELD(size),
	FIELD(flags),
	FIELD(n),
	FIELD(spread),
	FIELD(repeat),
	FIELD(nonce),
	FIELD(compute_ns),
	FIELD(compute_cycles),
	FIELD(decimal_ns),
	FIELD(decimal_cycles),
	FIELD(compute_allocations),
	FIELD(decimal_allocations),
	FIELD(peak_bytes),
	FIELD(limbs),
	FIELD(digits),
	FIELD(digest),
	FIELD(reserved[7]),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static void set_field(struct fibdrv_measure *m, const char *name,
		      uint64_t value)
{
	if (!strcmp(name, "reserved"))
		name = "reserved[7]";
	for (const struct field *f = fields; f < fields + FIELDS; f++) {
		/* The first bytes are the low ones: little-endian machines. */
		if (!strcmp(f->name, name))
			memcpy((char *)m + f->offset, &value, f->size);
	}
}

/* Many write() of F(n), each of which computes and releases, and no more. */
static void do_writes(const struct request *r)
{
	long long count = number(r, 3);
	struct fibctl_outside outside;
	ssize_t ret = 1;

	if (lseek(file(r), (off_t)number(r, 2), SEEK_SET) < 0) {
		answer(-1);
		return;
	}
	outside = fibctl_outside_begin();
	while (ret > 0 && count--)
		ret = write(file(r), "", 0);
	outside = fibctl_outside_end(outside);
	printf("%d", ret < 0 ? -errno : 0);
	fibctl_outside_print(outside);
}

static void do_measure(const struct request *r)
{
	struct fibdrv_measure m = { .size = sizeof(m), .repeat = 1 };
	struct fibctl_outside outside;
	void *address = &m;
	int ret;

	for (int i = 2; i < r->count; i++) {
		char *value = strchr(r->word[i], '=');

		if (!value)
			continue;
		*value++ = '\0';
		if (!strcmp(r->word[i], "address"))
			address = NULL;
		else
			set_field(&m, r->word[i], strtoull(value, NULL, 0));
	}
	outside = fibctl_outside_begin();
	ret = ioctl(file(r), FIBDRV_IOC_MEASURE, address);
	outside = fibctl_outside_end(outside);
	printf("%d", ret < 0 ? -errno : ret);
	for (const struct field *f = fields; f < fields + FIELDS; f++) {
		uint64_t value = 0;

		memcpy(&value, (char *)&m + f->offset, f->size);
		printf(" %s=%" PRIu64, f->name, value);
	}
	fibctl_outside_print(outside);
}

/* Without high resolution timers this ends right behind the next timer tick. */
static void do_tick(const struct request *r)
{
	struct timespec shortest = { .tv_nsec = 1 };
	int ret = nanosleep(&shortest, NULL);
	uint64_t begin = fibctl_cycles(), behind = (uint64_t)number(r, 1);

	while (fibctl_cycles() - begin < behind)
		;
	answer(ret);
}

static int open_attribute(const struct request *r, int flags)
{
	char path[256];

	snprintf(path, sizeof(path), FIBDRV_SYSFS "/%s",
		 r->count > 1 ? r->word[1] : "");
	return open(path, flags | O_CLOEXEC);
}

static void do_show(const struct request *r)
{
	char text[256] = "";
	int fd = open_attribute(r, O_RDONLY);
	ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	int err = errno;

	if (fd >= 0)
		close(fd);
	text[strcspn(text, "\n")] = '\0';
	printf("%d %s\n", count < 0 ? -err : 0, text);
}

static void do_store(const struct request *r)
{
	const char *value = r->count > 2 ? r->word[2] : "";
	int fd = open_attribute(r, O_WRONLY);
	ssize_t ret = fd < 0 ? -1 : write(fd, value, strlen(value));
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	answer(ret);
}

static void do_stat(void)
{
	struct stat st;

	if (stat(FIBDRV_DEVICE, &st))
		answer(-1);
	else
		printf("0 %o %u %u\n", (unsigned int)st.st_mode, st.st_uid,
		       st.st_gid);
}

static struct request split(char *line)
{
	struct request r = { .count = 0 };
	char *word = strtok(line, " \t\r\n");

	for (; word && r.count < MAX_WORDS; word = strtok(NULL, " \t\r\n"))
		r.word[r.count++] = word;
	return r;
}

/* Returns false for a verb that there is none of. */
static int serve(const struct request *r)
{
	const char *verb = r->word[0];

	if (!strcmp(verb, "open"))
		do_open(r);
	else if (!strcmp(verb, "close"))
		do_close(r);
	else if (!strcmp(verb, "seek"))
		answer(lseek(file(r), (off_t)number(r, 2), (int)number(r, 3)));
	else if (!strcmp(verb, "read"))
		do_read(r, 0);
	else if (!strcmp(verb, "pread"))
		do_read(r, 1);
	else if (!strcmp(verb, "write"))
		do_write(r, 0);
	else if (!strcmp(verb, "pwrite"))
		do_write(r, 1);
	else if (!strcmp(verb, "ioctl"))
		answer(ioctl(file(r), (unsigned long)number(r, 2), NULL));
	else if (!strcmp(verb, "measure"))
		do_measure(r);
	else if (!strcmp(verb, "writes"))
		do_writes(r);
	else if (!strcmp(verb, "show"))
		do_show(r);
	else if (!strcmp(verb, "store"))
		do_store(r);
	else if (!strcmp(verb, "stat"))
		do_stat();
	else if (!strcmp(verb, "tick"))
		do_tick(r);
	else if (!strcmp(verb, "sync"))
		printf("%s\n", r->count > 1 ? r->word[1] : "");
	else
		return 0;
	return 1;
}

int fibctl_batch(void)
{
	size_t room = 0;
	char *line = NULL;
	int status = 0;

	for (int i = 0; i < MAX_FILES; i++)
		files[i] = -1;
	while (getline(&line, &room, stdin) > 0) {
		struct request r = split(line);

		if (!r.count)
			continue;
		if (!strcmp(r.word[0], "quit"))
			break;
		if (!serve(&r)) {
			printf("? %s\n", r.word[0]);
			status = 2;
		}
		fflush(stdout);
	}
	free(line);
	return status;
}
