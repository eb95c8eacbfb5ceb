// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * firstctl batch: serve requests from standard input, see firstctl.h.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "first.h"
#include "firstctl.h"

#define PARAMETERS "/sys/module/first/parameters/"
/* The size of a text of a request, with its escapes. */
#define MOST_TEXT 256
/* The maximum number of files for the request "many". */
#define MOST_FILES 4000

static void print_text(const unsigned char *text, size_t size)
{
	if (!size)
		putchar('-');
	for (const unsigned char *end = text + size; text < end; text++) {
		if (*text == '\n')
			fputs("\\n", stdout);
		else if (isgraph(*text) && *text != '\\')
			putchar(*text);
		else
			printf("\\x%02x", *text);
	}
	putchar('\n');
}

/* Replace the escapes in TEXT in place, see texts.py. Return its size. */
static size_t unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		unsigned int byte;

		if (sscanf(from, "\\x%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 3;
		} else if (from[0] == '\\' && from[1]) {
			from++;
			*to++ = *from == 'n' ? '\n' :
				*from == '_' ? ' ' :
				*from == '0' ? '\0' :
					       *from;
		} else {
			*to++ = *from;
		}
	}
	return (size_t)(to - text);
}

/*
 * Map pages for a buffer, except those that "gap:FROM:PAGES" names. The first
 * missing byte is FROM bytes after the beginning of the buffer, or before it if
 * FROM is negative. Return false if @where names no pages, or if that fails.
 */
static bool map_with_gap(struct memory *m, size_t size, const char *where)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before, missing;
	unsigned long count;
	unsigned char *pages;
	long from;

	if (sscanf(where, "gap:%ld:%lu", &from, &count) != 2)
		return false;
	before = ((from > 0 ? (size_t)from : 0) / page + 1) * page;
	missing = count * page;
	m->size = before + missing + (size / page + 2) * page;
	pages = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	m->fill = '0';
	memset(pages, m->fill, m->size);
	munmap(pages + before, missing);
	m->pages = pages;
	m->address = pages + before - from;
	return true;
}

static void do_read(const struct request *r, bool has_offset)
{
	size_t size = (size_t)number(r, 2), touched;
	const char *where = word(r, 3 + has_offset);
	struct memory m;
	ssize_t ret;

	if (map_with_gap(&m, size, where)) {
		ret = has_offset ?
			      pread(file(r), m.address, size, number(r, 3)) :
			      read(file(r), m.address, size);
		answer(ret);
		memory_unmap(&m);
		return;
	}
	if (!memory_map(&m, size, where))
		return;
	print_text(m.address, read_into(r, has_offset, &m, &touched));
	memory_unmap(&m);
}

/* Return whether no byte of the memory of do_write() has changed. */
static bool is_as_before(const struct memory *m, const char *text, size_t size)
{
	for (size_t i = 0; i < m->size; i++) {
		size_t at = (size_t)(m->pages + i - m->address);

		if (m->pages[i] != (at < size ? (unsigned char)text[at] : '9'))
			return false;
	}
	return true;
}

/*
 * Write by write or writev, which must have the same effect. The kernel itself
 * answers a writev of no bytes.
 */
static ssize_t write_text(int fd, void *text, size_t size)
{
	struct iovec part = { text, size };

	return size && random() & 1 ? writev(fd, &part, 1) :
				      write(fd, text, size);
}

static void do_write(const struct request *r, bool has_offset)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size, place;
	char text[MOST_TEXT], where[32] = "half";
	ssize_t ret;
	struct memory m;
	int err;

	snprintf(text, sizeof(text), "%s", word(r, 2));
	size = unescape(text);
	if (size % 2 == 0) {
		/* The text begins in any byte of a page, or crosses its end. */
		place = (size_t)random() % page;
		if (size && random() & 1)
			place = page - 1 - place % size;
		snprintf(where, sizeof(where), "@%zu", place);
	}
	/* The mapped half of twice the size is exactly the text. */
	if (!memory_map(&m, 2 * size, where))
		return;
	memset(m.pages, '9', m.size);
	memcpy(m.address, text, size);
	memory_vary(&m);
	ret = has_offset ? pwrite(file(r), m.address, size, number(r, 3)) :
			   write_text(file(r), m.address, size);
	err = errno;
	if (!is_as_before(&m, text, size))
		puts("the text in the caller's memory has changed");
	else
		answer((errno = err, ret));
	memory_unmap(&m);
}

/* Map pages that need no memory until they are touched, up to 2 GB. */
static char *map_much(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		answer(-1);
	return memory == MAP_FAILED ? NULL : memory;
}

static void do_long_read(const struct request *r)
{
	size_t size = (size_t)number(r, 2);
	struct iovec part = { map_much(size), size };
	char *memory = part.iov_base;
	ssize_t count;

	if (!memory)
		return;
	/* A preadv of one part must have the effect of a pread. */
	count = preadv(file(r), &part, 1, number(r, 3));
	printf("%zd ", count < 0 ? -errno : count);
	print_text((unsigned char *)memory, count < 0 ? 0 : (size_t)count);
	munmap(memory, size);
}

/* Write SIZE bytes that begin with TEXT. */
static void do_long_write(const struct request *r)
{
	size_t size = (size_t)number(r, 3);
	char *memory = map_much(size);
	char text[MOST_TEXT];

	if (!memory)
		return;
	snprintf(text, sizeof(text), "%s", word(r, 2));
	memcpy(memory, text, unescape(text));
	answer(write(file(r), memory, size));
	munmap(memory, size);
}

static void do_bad_write(const struct request *r)
{
	struct memory m;

	size_t size = (size_t)number(r, 2);

	if (!map_with_gap(&m, size, word(r, 3)) &&
	    !memory_map(&m, size, "null"))
		return;
	if (!strcmp(word(r, 4), "end"))
		m.address[1] = '\0';
	answer(write(file(r), m.address, size));
	memory_unmap(&m);
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

/* Return whether bytes have changed before the buffer or after it. */
static bool changed_around(const struct memory *m, size_t size)
{
	for (size_t i = 0; i < m->size; i++)
		if ((size_t)(m->pages + i - m->address) >= size &&
		    m->pages[i] != m->fill)
			return true;
	return false;
}

static void do_info(const struct request *r)
{
	const char *where = word(r, 2);
	unsigned long long address;
	struct first_info info;
	struct memory m;
	int ret;

	if (sscanf(where, "at:%llx", &address) == 1) {
		answer(ioctl(file(r), FIRST_IOC_INFO, address));
		return;
	}
	if (map_with_gap(&m, sizeof(info), where)) {
		answer(ioctl(file(r), FIRST_IOC_INFO, m.address));
		memory_unmap(&m);
		return;
	}
	if (!memory_map(&m, sizeof(info), where))
		return;
	memory_vary(&m);
	ret = ioctl(file(r), FIRST_IOC_INFO, m.address);
	if (ret) {
		answer(ret);
	} else if (changed_around(&m, sizeof(info))) {
		puts("bytes around the structure have changed");
	} else {
		memcpy(&info, m.address, sizeof(info));
		printf("0 %u %u %u %u\n", info.lines, info.bytes, info.room,
		       info.mine);
	}
	memory_unmap(&m);
}

/* Write the path of an attribute. Return 0 or -1. */
static int attribute_path(const char *name, char path[128])
{
	struct stat st;

	if (stat(FIRST_DEVICE, &st))
		return -1;
	/* This path is independent of the name of the device's class. */
	snprintf(path, 128, "/sys/dev/char/%u:%u/%s", major(st.st_rdev),
		 minor(st.st_rdev), name);
	return 0;
}

int open_attribute(const char *name, int flags)
{
	char path[128];

	return attribute_path(name, path) ? -1 : open(path, flags | O_CLOEXEC);
}

/* Read an attribute. Return its size, or minus errno. */
static ssize_t read_attribute(const char *name, void *text, size_t size)
{
	int fd = open_attribute(name, O_RDONLY);
	ssize_t count = fd < 0 ? -1 : read(fd, text, size);

	if (count < 0)
		count = -errno;
	if (fd >= 0)
		close(fd);
	return count;
}

static void do_show(const struct request *r)
{
	unsigned char text[256];
	ssize_t count = read_attribute(word(r, 1), text, sizeof(text));

	printf("%zd ", count < 0 ? count : 0);
	print_text(text, count < 0 ? 0 : (size_t)count);
}

static void do_store(const struct request *r)
{
	char text[MOST_TEXT];

	snprintf(text, sizeof(text), "%s", word(r, 2));
	put_text(open_attribute(word(r, 1), O_WRONLY), text, unescape(text));
}

/* Store zeros, with a text at a place in them. */
static void do_long_store(const struct request *r)
{
	const char *text = word(r, 2);
	size_t size = (size_t)number(r, 3), place = (size_t)number(r, 4);
	char *zeros = malloc(size);

	if (!zeros || place + strlen(text) > size) {
		answer((errno = EINVAL, -1));
		free(zeros);
		return;
	}
	memset(zeros, '0', size);
	memcpy(zeros + place, text, strlen(text));
	put_text(open_attribute(word(r, 1), O_WRONLY), zeros, size);
	free(zeros);
}

static void do_stat(const struct request *r)
{
	char path[128] = FIRST_DEVICE;
	struct stat st;

	if ((r->count > 1 && attribute_path(word(r, 1), path)) ||
	    stat(path, &st))
		answer(-1);
	else
		printf("0 %o\n", (unsigned int)st.st_mode);
}

static void do_text(const struct request *r)
{
	FILE *file = fopen(word(r, 1), "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t size;

	if (!file) {
		printf("%d -\n", -errno);
		return;
	}
	/* A text has no zero byte, so this reads all of it. */
	size = getdelim(&text, &room, '\0', file);
	printf("0 ");
	print_text((unsigned char *)text, size < 0 ? 0 : (size_t)size);
	free(text);
	fclose(file);
}

/*
 * Create a file for the driver's steps, with the nonce in its first line.
 * Return its fd.
 */
static int steps_file(const char *nonce)
{
	int fd;

	unlink(FIRST_STEPS);
	fd = open(FIRST_STEPS, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		dprintf(fd, "%.16s\n", nonce);
	return fd;
}

/* Load a module as insmod does, but print a number as the answer. */
static void do_load(const struct request *r)
{
	int fd = open(word(r, 1), O_RDONLY | O_CLOEXEC);
	int steps = steps_file(word(r, 2));
	char parameters[128];
	int ret, loaded;

	snprintf(parameters, sizeof(parameters), "report=%d", steps);
	for (int i = 3; i < r->count; i++) {
		size_t used = strlen(parameters);

		snprintf(parameters + used, sizeof(parameters) - used, " %s",
			 r->word[i]);
	}
	ret = fd < 0 ? -1 : (int)syscall(SYS_finit_module, fd, parameters, 0);
	answer(ret);
	if (!ret) {
		loaded = open(PARAMETERS "loaded", O_WRONLY | O_CLOEXEC);
		if (loaded < 0 || write(loaded, "1", 1) != 1)
			perror(PARAMETERS "loaded");
		if (loaded >= 0)
			close(loaded);
	}
	if (steps >= 0)
		close(steps);
	if (fd >= 0)
		close(fd);
}

static void set_parameter(const char *path, const char *value)
{
	put_text(open(path, O_WRONLY | O_CLOEXEC), value, strlen(value));
}

static void do_opened(const struct request *r)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", file(r));
	set_parameter(PARAMETERS "opened", number);
}

/* Return whether a file has counted one line. */
static bool counts_one(int fd)
{
	struct first_info info;

	return !ioctl(fd, FIRST_IOC_INFO, &info) && info.mine == 1;
}

static void do_many(const struct request *r)
{
	bool asks = !strcmp(word(r, 2), "info");
	struct rlimit limit = { 2 * MOST_FILES, 2 * MOST_FILES };
	int count = (int)number(r, 1), opened = 0, odd = 0;
	static int files[MOST_FILES];

	if (setrlimit(RLIMIT_NOFILE, &limit))
		perror("setrlimit");
	while (opened < count && opened < MOST_FILES &&
	       (files[opened] = open(FIRST_DEVICE, O_RDWR | O_CLOEXEC)) >= 0)
		opened++;
	for (int i = 0; i < opened; i++)
		odd += write(files[i], "0", 1) != 1;
	for (int i = 0; i < opened; i++) {
		odd += asks && !counts_one(files[i]);
		close(files[i]);
	}
	printf("%d %d\n", opened, odd);
}

/*
 * Open the device with random sets of the flags that open passes on. Answer how
 * often that succeeds.
 */
static void do_flags(const struct request *r)
{
	static const int flags[] = { O_APPEND,	 O_ASYNC,  O_DSYNC, O_EXCL,
				     O_NOATIME,	 O_NOCTTY, O_SYNC,  O_NOFOLLOW,
				     O_NONBLOCK, O_TRUNC };
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR };
	long opened = 0;

	srandom((unsigned int)number(r, 2));
	for (long i = 0; i < number(r, 1); i++) {
		int fd, with = modes[i % 3] | O_CLOEXEC;

		for (size_t j = 0; j < sizeof(flags) / sizeof(*flags); j++)
			with |= random() & 1 ? flags[j] : 0;
		fd = open(FIRST_DEVICE, with);
		opened += fd >= 0 && !close(fd);
	}
	printf("%ld\n", opened);
}

/* Read a counter of the driver as text. Return the size of the text. */
static size_t read_counter(const struct request *r, char *text, size_t size)
{
	const char *name = word(r, 2);
	struct first_info info;
	ssize_t length = -1;

	if (strcmp(name, "mine"))
		length = read_attribute(name, text, size - 1);
	else if (!ioctl(file(r), FIRST_IOC_INFO, &info))
		length = snprintf(text, size, "%u\n", info.mine);
	if (length < 0)
		length = 0;
	text[length] = '\0';
	return (size_t)length;
}

/* Make a call that the counter counts. Return whether the call succeeds. */
static bool count_one(const struct request *r)
{
	const char *name = word(r, 2);
	char byte;

	if (!strcmp(name, "calls"))
		return read(file(r), &byte, 1) >= 0;
	if (write(file(r), "0", 1) == 1)
		return true;
	return !strcmp(name, "mine") && ioctl(file(r), FIRST_IOC_CLEAR) >= 0 &&
	       write(file(r), "0", 1) == 1;
}

/* Change the counter from one number to another. Return false if not found. */
static bool change_counter(long from, long to)
{
	int fd = open(PARAMETERS "counter", O_WRONLY | O_CLOEXEC);
	bool changed = fd >= 0 && dprintf(fd, "%ld %ld", from, to) > 0;

	if (fd >= 0)
		close(fd);
	return changed;
}

static bool counter_is(const struct request *r, long number)
{
	char text[64], right[64];

	read_counter(r, text, sizeof(text));
	snprintf(right, sizeof(right), "%ld\n", number);
	return !strcmp(text, right);
}

/* Answer whether the counter shows the right number. */
static void answer_counter(const struct request *r, long right)
{
	char text[64];
	size_t size = read_counter(r, text, sizeof(text));

	if (counter_is(r, right)) {
		puts("right");
		return;
	}
	printf("%ld ", right);
	print_text((unsigned char *)text, size);
}

static void do_count(const struct request *r)
{
	long most = number(r, 4), often = number(r, 5), now;
	bool found = true;
	char text[64];

	srandom((unsigned int)number(r, 3));
	read_counter(r, text, sizeof(text));
	now = strtol(text, NULL, 10);
	/* Two numbers distinguish the counter from other memory. */
	for (int i = 0; i < 2; i++) {
		long end = now + 100 + random() % 200;

		for (; now < end && count_one(r); now++)
			;
		found &= change_counter(now, now);
	}
	for (long power = 1024; found && now < most; power *= 2) {
		long next = power + random() % power;

		if (next > most)
			next = most;
		found = change_counter(now, next - 1);
		if (!found)
			break;
		count_one(r);
		if (counter_is(r, now + 1)) {
			/* The driver does not show the word that was found. */
			change_counter(next, ++now);
			found = false;
			break;
		}
		now = next;
		if (!counter_is(r, now))
			break;
	}
	while (!found && now < often && count_one(r))
		now++;
	answer_counter(r, now);
}

static bool serve_here(const struct request *r)
{
	const char *verb = r->word[0];

	if (!strcmp(verb, "read"))
		do_read(r, false);
	else if (!strcmp(verb, "pread"))
		do_read(r, true);
	else if (!strcmp(verb, "write"))
		do_write(r, false);
	else if (!strcmp(verb, "pwrite"))
		do_write(r, true);
	else if (!strcmp(verb, "longread"))
		do_long_read(r);
	else if (!strcmp(verb, "longwrite"))
		do_long_write(r);
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
	else if (!strcmp(verb, "longstore"))
		do_long_store(r);
	else if (!strcmp(verb, "stat"))
		do_stat(r);
	else if (!strcmp(verb, "exists"))
		answer(access(word(r, 1), F_OK));
	else if (!strcmp(verb, "text"))
		do_text(r);
	else if (!strcmp(verb, "load"))
		do_load(r);
	else if (!strcmp(verb, "unload"))
		answer(syscall(SYS_delete_module, "first", O_NONBLOCK));
	else if (!strcmp(verb, "fail"))
		set_parameter(PARAMETERS "fail", word(r, 1));
	else if (!strcmp(verb, "change"))
		set_parameter(PARAMETERS "change", word(r, 1));
	else if (!strcmp(verb, "opened"))
		do_opened(r);
	else if (!strcmp(verb, "blocks"))
		set_parameter(PARAMETERS "blocks", "1");
	else if (!strcmp(verb, "many"))
		do_many(r);
	else if (!strcmp(verb, "flags"))
		do_flags(r);
	else if (!strcmp(verb, "count"))
		do_count(r);
	else
		return serve_pair(r);
	return true;
}

/*
 * The second thread of the request "turns", and the request that it must serve.
 * It has another user than the first one.
 */
static struct turns {
	pid_t id; /* the kernel's number of the thread */
	pthread_t thread;
	bool begun;
	sem_t asked;
	sem_t answered;
	const struct request *request; /* NULL: end */
	bool known;
} turns;

/* Run on a random CPU, because a driver could choose its lock by the CPU. */
static void move(void)
{
	cpu_set_t cpu;

	CPU_ZERO(&cpu);
	CPU_SET((int)(random() % sysconf(_SC_NPROCESSORS_ONLN)), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
}

static void *serve_second(void *unused)
{
	(void)unused;
	turns.id = (pid_t)syscall(SYS_gettid);
	if (syscall(SYS_setresuid, 1, -1, -1))
		perror("setresuid");
	while (!sem_wait(&turns.asked) && turns.request) {
		move();
		turns.known = serve_here(turns.request) ||
			      serve_any(turns.request, FIRST_DEVICE);
		sem_post(&turns.answered);
	}
	return NULL;
}

static void ask_second(const struct request *r)
{
	turns.request = r;
	sem_post(&turns.asked);
}

static void do_turns(const struct request *r)
{
	unsigned int seed = (unsigned int)number(r, 1);
	int err = 0;

	if (seed && !turns.begun) {
		srandom(seed);
		sem_init(&turns.asked, 0, 0);
		sem_init(&turns.answered, 0, 0);
		err = pthread_create(&turns.thread, NULL, serve_second, NULL);
		turns.begun = !err;
	} else if (!seed && turns.begun) {
		ask_second(NULL);
		err = pthread_join(turns.thread, NULL);
		/* locks.c counts this thread until the kernel has removed it. */
		while (!syscall(SYS_tgkill, getpid(), turns.id, 0))
			sched_yield();
		turns.begun = false;
	}
	printf("%d\n", -err);
}

static bool serve(const struct request *r)
{
	if (!strcmp(r->word[0], "turns")) {
		do_turns(r);
		return true;
	}
	if (!turns.begun)
		return serve_here(r);
	if (random() & 1) {
		move();
		return serve_here(r);
	}
	ask_second(r);
	sem_wait(&turns.answered);
	return turns.known;
}

int firstctl_batch(void)
{
	return batch(FIRST_DEVICE, serve);
}
