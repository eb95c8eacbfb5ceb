// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Random reads and writes, and the checks of their results.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

/* A read or write, at the file's position or at a position of its own. */
struct transfer {
	struct slot *slot;
	uint64_t n;
	size_t size, sound;
	char *buffer;
};

/*
 * Generate a random transfer. Return false if no file is open or the call would
 * be too slow.
 */
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
		wrong("read of F(%llu), size %zu, %zu bytes writable: %zd (%s)",
		      (unsigned long long)t->n, t->size, t->sound, ret,
		      strerror(err));
}

void op_read(bool positioned)
{
	struct transfer t;
	ssize_t ret;

	if (!some_transfer(&t, positioned))
		return;
	ret = positioned ? pread(t.slot->fd, t.buffer, t.size, (off_t)t.n) :
			   read(t.slot->fd, t.buffer, t.size);
	judge_read(&t, ret, errno);
}

void op_write(bool positioned)
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
