// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Make random system calls. A call with valid arguments must return the exact
 * result, and a call with invalid arguments must fail with a suitable error.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

struct slot slots[SLOTS];
uint64_t state, max_n, cap;
unsigned long calls;
bool clock_on = true;
size_t page, room_size;
char *read_only, *room;

uint64_t below(uint64_t bound)
{
	return random_below(&state, bound);
}

bool one_in(uint64_t count)
{
	return !below(count);
}

uint64_t some_n(void)
{
	return random_log(&state, one_in(RARE) ? max_n : cap);
}

bool too_slow(uint64_t n)
{
	return n > cap && n <= max_n && !one_in(RARE / 10);
}

uint64_t wild_number(void)
{
	static const uint64_t edges[] = {
		0,	    1,		-1ULL,	    1ULL << 31,
		1ULL << 32, 1ULL << 62, 1ULL << 63, (1ULL << 63) - 1,
		0x7fffffff, 0x7ffff000, 0xfffff000, 4096,
	};

	switch (below(4)) {
	case 0:
		return edges[below(sizeof(edges) / sizeof(*edges))];
	case 1:
		return max_n + below(5) - 2;
	case 2:
		return random_next(&state);
	default:
		return random_next(&state) >> below(64);
	}
}

struct slot *some_slot(void)
{
	struct slot *slot = &slots[below(SLOTS)];

	return slot->opened ? slot : NULL;
}

void one_call(void)
{
	calls++;
	errno = 0;
}

static void op_open(void)
{
	static const int modes[] = { O_RDONLY, O_WRONLY, O_RDWR, O_RDWR };
	struct slot *slot = &slots[below(SLOTS)];
	struct opened *opened;
	int mode = modes[below(4)];

	if (slot->opened)
		return;
	one_call();
	slot->fd = open_device(mode | (one_in(4) ? O_NONBLOCK : 0) |
			       (one_in(8) ? O_APPEND : 0));
	if (slot->fd < 0) {
		wrong("open: %s", strerror(errno));
		return;
	}
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		give_up("memory");
	opened->users = 1;
	opened->mode = mode;
	slot->opened = opened;
}

static void close_slot(struct slot *slot)
{
	one_call();
	if (close(slot->fd))
		wrong("close: %s", strerror(errno));
	if (!--slot->opened->users)
		free(slot->opened);
	slot->opened = NULL;
}

static void op_close(void)
{
	struct slot *slot = some_slot();

	if (slot)
		close_slot(slot);
}

static void op_dup(void)
{
	struct slot *from = some_slot(), *to = &slots[below(SLOTS)];

	if (!from || to->opened)
		return;
	one_call();
	to->fd = dup(from->fd);
	if (to->fd < 0) {
		wrong("dup: %s", strerror(errno));
		return;
	}
	to->opened = from->opened;
	to->opened->users++;
}

static void op_seek(void)
{
	struct slot *slot = some_slot();
	int whence = one_in(20) ? (int)random_next(&state) : (int)below(3);
	uint64_t offset = one_in(4) ? wild_number() : some_n();
	uint64_t base = 0;
	off_t ret;
	bool right;

	if (!slot)
		return;
	if (whence == SEEK_CUR)
		base = slot->opened->position;
	else if (whence == SEEK_END)
		base = max_n;
	if (whence == SEEK_END && below(2))
		offset = -offset;
	/*
	 * The sum is computed modulo 2^64, but no invalid sum wraps around into
	 * the valid range.
	 */
	right = whence >= 0 && whence <= 2 && base + offset <= max_n;
	one_call();
	ret = lseek(slot->fd, (off_t)offset, whence);
	if (right ? ret != (off_t)(base + offset) :
		    ret != -1 || errno != EINVAL)
		wrong("lseek from %llu by %lld, whence %d: %lld (%s)",
		      (unsigned long long)slot->opened->position,
		      (long long)offset, whence, (long long)ret,
		      strerror(errno));
	if (right)
		slot->opened->position = base + offset;
}

char *some_buffer(size_t size, size_t *sound)
{
	*sound = 0;
	switch (below(12)) {
	case 0:
		return NULL;
	case 1:
		return (char *)0xffff888000000000; /* a kernel address */
	case 2:
		return (char *)0x0000900000000000; /* not canonical */
	case 3:
		return (char *)-8L;
	case 4:
		return read_only;
	case 5: /* the beginning is mapped, the rest is not */
		*sound = below((size < room_size ? size : room_size) + 1);
		return room + room_size - *sound;
	default:
		*sound = room_size;
		return room;
	}
}

size_t some_size(uint64_t n)
{
	size_t digits = n <= max_n ? fib_digits(n) : 20;

	switch (below(6)) {
	case 0:
		return wild_number();
	case 1:
		return digits - below(2);
	case 2:
		return below(digits + 1);
	default:
		return digits + below(100);
	}
}

bool fits(int err)
{
	return err == EINVAL || err == EFAULT || err == ERANGE ||
	       err == EOVERFLOW;
}

/*
 * Check the position, which sendfile, splice and readv may have moved by
 * mistake.
 */
static void op_position(void)
{
	struct slot *slot = some_slot();
	off_t position;

	if (!slot)
		return;
	one_call();
	position = lseek(slot->fd, 0, SEEK_CUR);
	if (position < 0 || (uint64_t)position != slot->opened->position)
		wrong("the position is %lld, not %llu", (long long)position,
		      (unsigned long long)slot->opened->position);
}

static ssize_t store_clock(const char *value, size_t size)
{
	int fd = open(FIBDRV_SYSFS "/ktime_measure", O_WRONLY | O_CLOEXEC);
	ssize_t ret = write(fd, value, size);

	close(fd);
	return ret;
}

static void op_sysfs(void)
{
	static const char *const junk[] = { "2",   "-1",  "on",	  "",
					    "00x", "1 1", "0x1g", "256" };
	const char *text = junk[below(sizeof(junk) / sizeof(*junk))];

	calls += 3;
	if (one_in(4)) {
		clock_on = below(2);
		if (store_clock(clock_on ? "1" : "0", 1) != 1)
			wrong("ktime_measure refuses %d", clock_on);
	} else if (store_clock(text, strlen(text)) > 0) {
		wrong("ktime_measure takes '%s'", text);
	}
}

static void op_unload(void)
{
	bool any = false;

	for (int i = 0; i < SLOTS; i++)
		any = any || slots[i].opened;
	if (!any)
		return;
	one_call();
	if (!unload_module() || (errno != EWOULDBLOCK && errno != EBUSY))
		wrong("unload while open: %s", strerror(errno));
}

/*
 * Fork a child. Parent and child read from some inherited files and close them,
 * in different random orders. Then the child reads from a remaining file.
 */
static void op_fork(void)
{
	pid_t child = fork();
	int status;

	calls++;
	if (child < 0)
		give_up("fork");
	state ^= child ? 0 : 0x5851f42d4c957f2d;
	for (unsigned int i = 0; i < SLOTS; i++) {
		struct slot *slot = some_slot();

		if (slot && one_in(3)) {
			op_read(true);
			close_slot(slot);
		}
	}
	if (!child) {
		struct slot *slot = some_slot();

		if (slot && slot->opened->mode != O_WRONLY)
			read_right(slot->fd, some_n(), "in a child");
		_exit(complained());
	}
	if (waitpid(child, &status, 0) != child || status)
		wrong("a child process of the test ended with status %#x",
		      status);
}

static void one_op(void)
{
	switch (below(100)) {
	case 0 ... 9:
		return op_open();
	case 10 ... 15:
		return op_close();
	case 16 ... 18:
		return op_dup();
	case 19 ... 36:
		return op_seek();
	case 37 ... 51:
		return op_read(false);
	case 52 ... 66:
		return op_read(true);
	case 67 ... 70:
		return op_write(false);
	case 71 ... 74:
		return op_write(true);
	case 75 ... 80:
		return op_ioctl();
	case 81 ... 86:
		return op_measure();
	case 87 ... 91:
		return op_odd();
	case 92 ... 96:
		return op_position();
	case 97:
		return op_sysfs();
	case 98:
		return op_unload();
	default:
		if (one_in(4))
			op_fork();
	}
}

void do_calls(char **args)
{
	unsigned long count = strtoul(args[1], NULL, 10);
	char *memory;

	state = strtoull(args[0], NULL, 10);
	max_n = strtoull(args[2], NULL, 10);
	cap = strtoull(args[3], NULL, 10);
	page = (size_t)sysconf(_SC_PAGESIZE);
	room_size = (fib_digits(max_n) / page + 2) * page;
	memory = mmap(NULL, room_size + page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_only =
		mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || read_only == MAP_FAILED)
		give_up("memory");
	room = memory;
	munmap(memory + room_size, page);
	while (calls < count)
		one_op();
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].opened)
			close_slot(&slots[i]);
	store_clock("1", 1);
	printf("calls=%lu\n", calls);
}
