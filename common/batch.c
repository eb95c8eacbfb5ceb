// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "batch.h"

static int files[BATCH_FILES];

long long number(const struct request *r, int i)
{
	return i < r->count ? strtoll(r->word[i], NULL, 0) : 0;
}

const char *word(const struct request *r, int i)
{
	return i < r->count ? r->word[i] : "";
}

int file(const struct request *r)
{
	long long h = number(r, 1);

	return h >= 0 && h < BATCH_FILES ? files[h] : -1;
}

void answer(long long ret)
{
	printf("%lld\n", ret < 0 ? (long long)-errno : ret);
}

/*
 * Map pages of a file in memory, so that memory_vary() can remove them from the
 * page table while they keep their bytes.
 */
static void *map_pages(size_t size)
{
	int fd = memfd_create("pages", MFD_CLOEXEC);
	void *pages = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, (off_t)size))
		pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     0);
	if (fd >= 0)
		close(fd);
	return pages;
}

bool memory_map(struct memory *m, size_t size, const char *where)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), there, mapped;
	void *pages;

	m->size = (size / page + 2) * page;
	pages = map_pages(m->size);
	if (pages == MAP_FAILED) {
		answer(-1);
		return false;
	}
	m->pages = pages;
	m->address = pages;
	m->fill = 0;
	if (!strcmp(where, "fresh"))
		return true;
	m->fill = BATCH_FILL;
	memset(pages, BATCH_FILL, m->size);
	if (!strcmp(where, "null")) {
		m->address = NULL;
	} else if (*where == '@') {
		m->address += strtoul(where + 1, NULL, 10) % page;
	} else if (!strcmp(where, "half") || isdigit(*where)) {
		there = isdigit(*where) ? strtoul(where, NULL, 10) : size / 2;
		there = there < size ? there : size;
		mapped = (there / page + 1) * page;
		munmap(m->pages + mapped, m->size - mapped);
		m->size = mapped;
		m->address += mapped - there;
	}
	return true;
}

void memory_vary(const struct memory *m)
{
	static bool absent;

	absent = !absent;
	if (absent)
		madvise(m->pages, m->size, MADV_DONTNEED);
}

void memory_unmap(const struct memory *m)
{
	munmap(m->pages, m->size);
}

size_t memory_mapped(const struct memory *m)
{
	size_t before = (uintptr_t)m->address - (uintptr_t)m->pages;

	return before < m->size ? m->size - before : 0;
}

size_t read_into(const struct request *r, bool has_offset,
		 const struct memory *m, size_t *touched)
{
	size_t size = (size_t)number(r, 2), mapped = memory_mapped(m);
	ssize_t ret;
	int err;

	memory_vary(m);
	if (has_offset)
		ret = pread(file(r), m->address, size, (off_t)number(r, 3));
	else
		ret = read(file(r), m->address, size);
	err = errno;
	*touched = 0;
	for (size_t i = 0; i < m->size; i++)
		*touched += m->pages[i] != m->fill;
	printf("%zd %zu ", ret < 0 ? (ssize_t)-err : ret, *touched);
	if (ret < 0)
		return 0;
	return (size_t)ret < mapped ? (size_t)ret : mapped;
}

void put_text(int fd, const char *text, size_t size)
{
	ssize_t ret = fd < 0 ? -1 : write(fd, text, size);
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	answer(ret);
}

static void do_open(const struct request *r, const char *device)
{
	const char *mode = word(r, 2), *more = mode + strspn(mode, "rw");
	long long h = number(r, 1);
	int flags = O_RDWR;

	if (h < 0 || h >= BATCH_FILES || files[h] >= 0) {
		errno = EBADF;
		answer(-1);
		return;
	}
	if (*mode == 'r' && more == mode + 1)
		flags = O_RDONLY;
	else if (*mode == 'w')
		flags = O_WRONLY;
	flags |= strchr(more, 'a') ? O_APPEND : 0;
	flags |= strchr(more, 'n') ? O_NONBLOCK : 0;
	flags |= strchr(more, 's') ? O_SYNC : 0;
	flags |= strchr(more, 't') ? O_TRUNC : 0;
	files[h] = open(device, flags | O_CLOEXEC);
	answer(files[h] < 0 ? -1 : 0);
}

static void do_close(const struct request *r)
{
	int ret = close(file(r));

	if (!ret)
		files[number(r, 1)] = -1;
	answer(ret);
}

static void do_close_all(void)
{
	for (int i = 0; i < BATCH_FILES; i++) {
		if (files[i] >= 0)
			close(files[i]);
		files[i] = -1;
	}
	answer(0);
}

static void do_load(const struct request *r)
{
	int fd = open(word(r, 1), O_RDONLY | O_CLOEXEC);

	answer(fd < 0 ? -1 : syscall(SYS_finit_module, fd, "", 0));
	if (fd >= 0)
		close(fd);
}

static struct request split(char *line)
{
	struct request r = { .count = 0 };
	char *one = strtok(line, " \t\r\n");

	for (; one && r.count < BATCH_WORDS; one = strtok(NULL, " \t\r\n"))
		r.word[r.count++] = one;
	return r;
}

static void do_ioctl(const struct request *r)
{
	static char
		memory[1 << 14]; /* the largest size that a request can name */

	answer(ioctl(file(r), (unsigned long)number(r, 2),
		     r->count > 3 ? memory : NULL));
}

bool serve_any(const struct request *r, const char *device)
{
	const char *verb = r->word[0];

	if (!strcmp(verb, "open"))
		do_open(r, device);
	else if (!strcmp(verb, "close"))
		do_close(r);
	else if (!strcmp(verb, "seek"))
		answer(lseek(file(r), (off_t)number(r, 2), (int)number(r, 3)));
	else if (!strcmp(verb, "close-all"))
		do_close_all();
	else if (!strcmp(verb, "ioctl"))
		do_ioctl(r);
	else if (!strcmp(verb, "load"))
		do_load(r);
	else if (!strcmp(verb, "unload"))
		answer(syscall(SYS_delete_module, word(r, 1), O_NONBLOCK));
	else if (!strcmp(verb, "sync"))
		printf("%s\n", word(r, 1));
	else
		return false;
	return true;
}

int batch(const char *device, bool (*serve)(const struct request *r))
{
	size_t room = 0;
	char *line = NULL;
	int status = 0;

	for (int i = 0; i < BATCH_FILES; i++)
		files[i] = -1;
	while (getline(&line, &room, stdin) > 0) {
		struct request r = split(line);

		if (!r.count)
			continue;
		if (!strcmp(r.word[0], "quit"))
			break;
		if (!serve(&r) && !serve_any(&r, device)) {
			printf("? %s\n", r.word[0]);
			status = 2;
		}
		fflush(stdout);
	}
	free(line);
	return status;
}
