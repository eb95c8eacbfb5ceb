// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Make random ioctl requests, of this driver and of other drivers, and unusual
 * system calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "calls.h"

/*
 * Make a random ioctl. The result is checked only for requests of the driver's
 * type.
 */
void op_ioctl(void)
{
	struct slot *slot = some_slot();
	unsigned int request = (unsigned int)random_next(&state);
	size_t sound;
	int ret;

	if (!slot)
		return;
	if (below(2)) /* the driver's request with one bit changed */
		request = (unsigned int)FIBDRV_IOC_MEASURE ^ (1u << below(32));
	one_call();
	ret = ioctl(slot->fd, request, some_buffer(page, &sound));
	if (ret < 0 ? errno != ENOTTY && (request >> 8 & 0xff) == 'F' :
		      (request >> 8 & 0xff) == 'F')
		wrong("ioctl %#x: %d (%s)", request, ret, strerror(errno));
}

void op_measure(void)
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
	case 0: /* change a random bit; a changed output field has no effect */
		bytes[below(sizeof(m))] ^= 1u << below(8);
		valid = m.size == sizeof(m) && !m.flags && m.n <= max_n &&
			m.spread <= m.n && m.repeat &&
			m.repeat <= FIBDRV_MAX_REPEAT;
		for (size_t i = 0; i < 8; i++)
			valid = valid && !m.reserved[i];
		/*
		 * A valid call with a large n or many repetitions would take
		 * too long.
		 */
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
	case 4: /* a valid request in memory to which the driver cannot write */
		mprotect(read_only, page, PROT_READ | PROT_WRITE);
		memcpy(read_only, &m, sizeof(m));
		mprotect(read_only, page, PROT_READ);
		one_call();
		ret = ioctl(slot->fd, FIBDRV_IOC_MEASURE, read_only);
		if (ret != -1 || errno != EFAULT)
			wrong("measure into read-only memory: %d (%s)", ret,
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

/* Make an unusual call. Any result is accepted, unless mmap succeeds. */
void op_odd(void)
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
