// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * firstctl batch: see firstctl.h.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "first.h"
#include "firstctl.h"

/* Memory is filled with this beforehand: no text, so a change is seen. */
#define UNTOUCHED 0xa5
#define FAIL "/sys/module/first/parameters/fail"

static void print_text(const unsigned char *text, ssize_t size)
{
	if (size <= 0)
		putchar('-');
	for (ssize_t i = 0; i < size; i++) {
		if (text[i] == '\n')
			fputs("\\n", stdout);
		else if (isgraph(text[i]))
			putchar(text[i]);
		else
			printf("\\x%02x", text[i]);
	}
	putchar('\n');
}

/* TEXT of a request, in place; returns its size. */
static size_t unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (from[0] == '\\' && from[1]) {
			from++;
			*to++ = *from == 'n' ? '\n' :
				*from == '_' ? ' ' :
					       *from;
		} else {
			*to++ = *from;
		}
	}
	return (size_t)(to - text);
}

/* Pages for @size bytes and some behind them. */
static unsigned char *pages(size_t size, size_t *room)
{
	void *memory;

	*room = (size / 4096 + 2) * 4096;
	memory = mmap(NULL, *room, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* @size bytes of which only the first half is ours. */
static unsigned char *half_of(unsigned char *memory, size_t size, size_t room)
{
	munmap(memory + 4096, room - 4096);
	return memory + 4096 - size / 2;
}

static void do_read(const struct request *r, int has_offset)
{
	const char *where = has_offset ? "good" : word(r, 3);
	size_t size = (size_t)number(r, 2), room, touched = 0;
	unsigned char *memory = pages(size, &room), *buffer = memory;
	int fresh = !strcmp(where, "fresh"), err;
	ssize_t ret;

	if (!memory) {
		answer(-1);
		return;
	}
	/* A page that nobody has touched is not there yet. */
	if (!fresh)
		memset(memory, UNTOUCHED, room);
	if (!strcmp(where, "null")) {
		buffer = NULL;
	} else if (!strcmp(where, "half")) {
		buffer = half_of(memory, size, room);
		room = 4096;
	}
	if (has_offset)
		ret = pread(file(r), buffer, size, number(r, 3));
	else
		ret = read(file(r), buffer, size);
	err = errno;
	for (size_t i = 0; i < room; i++)
		touched += memory[i] != (fresh ? 0 : UNTOUCHED);
	printf("%zd %zu ", ret < 0 ? (ssize_t)-err : ret, touched);
	/* Nothing can have come to memory that is not there. */
	print_text(buffer, buffer && room > 4096 ? ret : 0);
	munmap(memory, room);
}

static void do_write(const struct request *r)
{
	char text[64], memory[256];
	size_t size;

	snprintf(text, sizeof(text), "%s", word(r, 2));
	size = unescape(text);
	memset(memory, '9', sizeof(memory));
	memcpy(memory, text, size);
	answer(write(file(r), memory, size));
}

static void do_bad_write(const struct request *r)
{
	unsigned char *memory, *buffer = NULL;
	size_t room;

	memory = pages(2, &room);
	if (!memory) {
		answer(-1);
		return;
	}
	memset(memory, '1', room);
	if (!strcmp(word(r, 2), "half"))
		buffer = half_of(memory, 2, room);
	answer(write(file(r), buffer, 2));
	munmap(memory, 4096);
}

static void do_fill(const struct request *r)
{
	char text[32];
	ssize_t ret;
	long count = 0;
	size_t size;

	snprintf(text, sizeof(text), "%s", word(r, 2));
	size = unescape(text);
	while ((ret = write(file(r), text, size)) == (ssize_t)size &&
	       count < FIRST_BYTES)
		count++;
	printf("%ld %zd\n", count, ret < 0 ? (ssize_t)-errno : ret);
}

static void do_info(const struct request *r)
{
	int null = !strcmp(word(r, 2), "null");
	struct first_info info;
	int ret;

	memset(&info, UNTOUCHED, sizeof(info));
	ret = ioctl(file(r), FIRST_IOC_INFO, null ? NULL : &info);
	if (ret)
		answer(ret);
	else
		printf("0 %u %u %u %u\n", info.lines, info.bytes, info.room,
		       info.mine);
}

static int attribute(const struct request *r, int flags)
{
	return open_attribute(word(r, 1), flags);
}

int open_attribute(const char *name, int flags)
{
	char path[128];
	struct stat st;

	if (stat(FIRST_DEVICE, &st))
		return -1;
	/* Whatever the class of the device is. */
	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/%s",
		 major(st.st_rdev), minor(st.st_rdev), name);
	return open(path, flags | O_CLOEXEC);
}

static void do_show(const struct request *r)
{
	unsigned char text[256];
	int fd = attribute(r, O_RDONLY);
	ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof(text));
	int err = errno;

	if (fd >= 0)
		close(fd);
	printf("%d ", count < 0 ? -err : 0);
	print_text(text, count);
}

static void put_text(int fd, const char *text, size_t size)
{
	ssize_t ret = fd < 0 ? -1 : write(fd, text, size);
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	answer(ret);
}

static void do_store(const struct request *r)
{
	char text[64];

	snprintf(text, sizeof(text), "%s", word(r, 2));
	put_text(attribute(r, O_WRONLY), text, unescape(text));
}

static void do_stat(void)
{
	struct stat st;

	if (stat(FIRST_DEVICE, &st))
		answer(-1);
	else
		printf("0 %o\n", (unsigned int)st.st_mode);
}

/* A new file for the driver's steps, with the nonce in its first line. */
static int steps_file(const char *nonce)
{
	int fd;

	unlink(FIRST_STEPS);
	fd = open(FIRST_STEPS, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		dprintf(fd, "%.16s\n", nonce);
	return fd;
}

/* As insmod and rmmod, but that the answer is a number. */
static void do_load(const struct request *r)
{
	int fd = open(word(r, 1), O_RDONLY | O_CLOEXEC);
	int steps = steps_file(word(r, 2));
	char parameters[128];

	snprintf(parameters, sizeof(parameters), "report=%d", steps);
	for (int i = 3; i < r->count; i++) {
		size_t used = strlen(parameters);

		snprintf(parameters + used, sizeof(parameters) - used, " %s",
			 r->word[i]);
	}
	answer(fd < 0 ? -1 : syscall(SYS_finit_module, fd, parameters, 0));
	if (steps >= 0)
		close(steps);
	if (fd >= 0)
		close(fd);
}

static bool serve(const struct request *r)
{
	const char *verb = r->word[0];

	if (!strcmp(verb, "read"))
		do_read(r, 0);
	else if (!strcmp(verb, "pread"))
		do_read(r, 1);
	else if (!strcmp(verb, "write"))
		do_write(r);
	else if (!strcmp(verb, "badwrite"))
		do_bad_write(r);
	else if (!strcmp(verb, "fill"))
		do_fill(r);
	else if (!strcmp(verb, "info"))
		do_info(r);
	else if (!strcmp(verb, "clear"))
		answer(ioctl(file(r), FIRST_IOC_CLEAR));
	else if (!strcmp(verb, "show"))
		do_show(r);
	else if (!strcmp(verb, "store"))
		do_store(r);
	else if (!strcmp(verb, "stat"))
		do_stat();
	else if (!strcmp(verb, "load"))
		do_load(r);
	else if (!strcmp(verb, "unload"))
		answer(syscall(SYS_delete_module, "first", O_NONBLOCK));
	else if (!strcmp(verb, "fail"))
		put_text(open(FAIL, O_WRONLY | O_CLOEXEC), word(r, 1),
			 strlen(word(r, 1)));
	else
		return serve_pair(r);
	return true;
}

int firstctl_batch(void)
{
	return batch(FIRST_DEVICE, serve);
}
