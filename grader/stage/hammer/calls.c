// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Random system calls. What each may answer is known beforehand: exactly where
 * its arguments are sound, otherwise that it fails with an error that fits.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hammer.h"

#define SLOTS 16
#define RARE 2000

/* An open file, which dup and fork share; its position as it should be. */
struct opened {
	int users;
	int mode;
	uint64_t position;
};

static struct slot {
	int fd;
	struct opened *opened;
} slots[SLOTS];

static uint64_t state, max_n, cap;
static unsigned long calls;
static bool clock_on = true;
static size_t page;
static char *read_only;
static char *room; /* room_size bytes, then nothing */
static size_t room_size;

static uint64_t below(uint64_t bound)
{
	return random_below(&state, bound);
}

static bool one_in(uint64_t count)
{
	return !below(count);
}

static uint64_t some_n(void)
{
	return random_log(&state, one_in(RARE) ? max_n : cap);
}

/* Of calls that take long, one in some is made. */
static bool too_slow(uint64_t n)
{
	return n > cap && n <= max_n && !one_in(RARE / 10);
}

static uint64_t wild_number(void)
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

static struct slot *some_slot(void)
{
	struct slot *slot = &slots[below(SLOTS)];

	return slot->opened ? slot : NULL;
}

static void one_call(void)
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
	/* Modulo 2^64, as no sum of the two is both wrong and in range. */
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

/* Where data goes; @sound is how many bytes of it are there, and writable. */
static char *some_buffer(size_t size, size_t *sound)
{
	*sound = 0;
	switch (below(12)) {
	case 0:
		return NULL;
	case 1:
		return (char *)0xffff888000000000; /* the kernel's */
	case 2:
		return (char *)0x0000900000000000; /* nobody's */
	case 3:
		return (char *)-8L;
	case 4:
		return read_only;
	case 5: /* the beginning is there, the rest is not */
		*sound = below((size < room_size ? size : room_size) + 1);
		return room + room_size - *sound;
	default:
		*sound = room_size;
		return room;
	}
}

static size_t some_size(uint64_t n)
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

static bool fits(int err)
{
	return err == EINVAL || err == EFAULT || err == ERANGE ||
	       err == EOVERFLOW;
}

/* A read or write, on its own position or at the file's. */
struct transfer {
	struct slot *slot;
	uint64_t n;
	size_t size, sound;
	char *buffer;
};

/* Whether there is one to make. */
static bool some_transfer(struct transfer *t, bool positioned)
{
	t->slot = some_slot();
	if (!t->slot)
		return false;
	t->n = !positioned ? t->slot->opened->position :
	       one_in(8)   ? wild_number() :
			     some_n();
	if (too_slow(t->n))
		return false;
	t->size = some_size(t->n);
	t->buffer = some_buffer(t->size, &t->sound);
	one_call();
	return true;
}

static void judge_read(const struct transfer *t, ssize_t ret, int err)
{
	int mode = t->slot->opened->mode;
	bool may = mode != O_WRONLY && t->n <= max_n;
	size_t digits = may ? fib_digits(t->n) : 0;
	bool right;

	if (ret >= 0)
		right = may && t->size >= digits && t->sound >= digits &&
			fib_right(t->n, t->buffer, ret);
	else if (mode == O_WRONLY)
		right = err == EBADF || (err == EINVAL && (int64_t)t->n < 0);
	else if (!may)
		right = fits(err);
	else if (t->size < digits)
		right = err == ERANGE || (err == EFAULT && !t->sound) ||
			(t->size > room_size && fits(err));
	else if (t->size <= room_size && t->sound < digits)
		right = err == EFAULT;
	else if (t->size <= room_size && t->sound >= t->size)
		right = false;
	else
		right = fits(err);
	if (!right)
		wrong("read of F(%llu), size %zu, %zu of it sound: %zd (%s)",
		      (unsigned long long)t->n, t->size, t->sound, ret,
		      strerror(err));
}

static void op_read(bool positioned)
{
	struct transfer t;
	ssize_t ret;

	if (!some_transfer(&t, positioned))
		return;
	ret = positioned ? pread(t.slot->fd, t.buffer, t.size, (off_t)t.n) :
			   read(t.slot->fd, t.buffer, t.size);
	judge_read(&t, ret, errno);
}

static void op_write(bool positioned)
{
	struct transfer t;
	ssize_t ret;
	bool right;

	if (!some_transfer(&t, positioned))
		return;
	ret = positioned ? pwrite(t.slot->fd, t.buffer, t.size, (off_t)t.n) :
			   write(t.slot->fd, t.buffer, t.size);
	if (ret >= 0)
		right = t.slot->opened->mode != O_RDONLY && t.n <= max_n &&
			(clock_on ? ret >= 1 :
				    (size_t)ret == t.size || ret == 0x7ffff000);
	else if (t.slot->opened->mode == O_RDONLY)
		right = errno == EBADF || (errno == EINVAL && (int64_t)t.n < 0);
	else if (t.n > max_n || t.size > room_size || !t.sound)
		right = fits(errno);
	else
		right = false;
	if (!right)
		wrong("write at %llu, size %zu: %zd (%s)",
		      (unsigned long long)t.n, t.size, ret, strerror(errno));
}

/* Requests that the kernel itself knows are left to it. */
static void op_ioctl(void)
{
	struct slot *slot = some_slot();
	unsigned int request = (unsigned int)random_next(&state);
	size_t sound;
	int ret;

	if (!slot)
		return;
	if (below(2)) /* near ours: a bit of it, or another size */
		request = (unsigned int)FIBDRV_IOC_MEASURE ^ (1u << below(32));
	one_call();
	ret = ioctl(slot->fd, request, some_buffer(page, &sound));
	if (ret < 0 ? errno != ENOTTY && (request >> 8 & 0xff) == 'F' :
		      (request >> 8 & 0xff) == 'F')
		wrong("ioctl %#x: %d (%s)", request, ret, strerror(errno));
}

static void op_measure(void)
{
	struct slot *slot = some_slot();
	struct fibdrv_measure m = {
		.size = sizeof(m),
		.n = random_log(&state, cap / 4),
		.repeat = 1 + (uint32_t)below(4),
		.nonce = random_next(&state),
	};
	unsigned char *bytes = (unsigned char *)&m;
	bool valid = true, there;
	struct fibdrv_measure *where = &m;
	size_t sound;
	int ret;

	if (!slot)
		return;
	m.spread = (uint32_t)below(m.n + 1);
	switch (below(8)) {
	case 0: /* any bit of it; the results' are not looked at */
		bytes[below(sizeof(m))] ^= 1u << below(8);
		valid = m.size == sizeof(m) && !m.flags && m.n <= max_n &&
			m.spread <= m.n && m.repeat &&
			m.repeat <= FIBDRV_MAX_REPEAT;
		for (size_t i = 0; i < 8; i++)
			valid = valid && !m.reserved[i];
		/* As many repetitions as that take too long here. */
		if (valid && (m.repeat > 64 || m.n > cap))
			return;
		break;
	case 1:
		m.n = max_n + 1 + random_next(&state) % (1ULL << 62);
		valid = false;
		break;
	case 2:
		m.repeat = one_in(2) ? 0 : FIBDRV_MAX_REPEAT + 1;
		valid = false;
		break;
	case 3:
		where = (struct fibdrv_measure *)some_buffer(sizeof(m), &sound);
		break;
	case 4: /* a sound question, and nowhere to put the answer */
		mprotect(read_only, page, PROT_READ | PROT_WRITE);
		memcpy(read_only, &m, sizeof(m));
		mprotect(read_only, page, PROT_READ);
		one_call();
		ret = ioctl(slot->fd, FIBDRV_IOC_MEASURE, read_only);
		if (ret != -1 || errno != EFAULT)
			wrong("measure into memory to read: %d (%s)", ret,
			      strerror(errno));
		return;
	default:
		break;
	}
	there = where == &m;
	if (where == (struct fibdrv_measure *)room ||
	    (char *)where == room + room_size) {
		there = false;
		memset(room, 0, sizeof(m));
	}
	one_call();
	ret = ioctl(slot->fd, FIBDRV_IOC_MEASURE, where);
	if (there && valid ? ret != 0 || m.digits < m.repeat || m.limbs < 1 :
	    there	   ? ret != -1 || errno != EINVAL :
			     ret != -1 || (errno != EFAULT && errno != EINVAL))
		wrong("measure of F(%llu) times %u: %d (%s)",
		      (unsigned long long)m.n, m.repeat, ret, strerror(errno));
}

/* What nobody expects of a device like this; any answer will do. */
static void op_odd(void)
{
	struct slot *slot = some_slot();
	struct iovec vector[3];
	struct pollfd poll_fd;
	struct stat st;
	off_t offset = (off_t)some_n();
	size_t sound;
	void *map;

	if (!slot || too_slow(slot->opened->position))
		return;
	for (int i = 0; i < 3; i++) {
		vector[i].iov_len = some_size(slot->opened->position);
		vector[i].iov_base = some_buffer(vector[i].iov_len, &sound);
	}
	poll_fd = (struct pollfd){ .fd = slot->fd, .events = POLLIN };
	one_call();
	switch (below(14)) {
	case 0:
		(void)!readv(slot->fd, vector, (int)below(4));
		break;
	case 1:
		(void)!writev(slot->fd, vector, (int)below(4));
		break;
	case 2:
		(void)!preadv(slot->fd, vector, (int)below(4), offset);
		break;
	case 3:
		poll(&poll_fd, 1, 0);
		break;
	case 4:
		fstat(slot->fd, &st);
		break;
	case 5:
		fsync(slot->fd);
		break;
	case 6:
		(void)!ftruncate(slot->fd, offset);
		break;
	case 7:
		map = mmap(NULL, page, PROT_READ, MAP_SHARED, slot->fd, 0);
		if (map != MAP_FAILED)
			wrong("mmap is possible");
		break;
	case 8:
		fcntl(slot->fd, F_SETFL, one_in(2) ? O_NONBLOCK : 0);
		break;
	case 9:
		(void)!sendfile(slot->fd, slot->fd, &offset, page);
		break;
	case 10:
		(void)!splice(slot->fd, &offset, slot->fd, NULL, page, 0);
		break;
	case 11:
		fcntl(slot->fd, F_SETOWN, getpid());
		break;
	case 12:
		(void)!fallocate(slot->fd, 0, 0, offset);
		break;
	case 13:
		ioctl(slot->fd, FIONREAD, &sound);
		break;
	}
}

/* sendfile and splice, like readv, may have moved the position. */
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
			wrong("ktime_measure takes no %d", clock_on);
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
 * A child that closes what it has inherited in an order of its own, and reads
 * by the last it has, while its parent does the same.
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
		wrong("a child of the test ended with %#x", status);
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
