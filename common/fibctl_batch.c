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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "batch.h"
#include "fibctl.h"

/* The number of bytes after a buffer that are checked for stray writes. */
#define BEHIND 4096

/* The number of digits that residue() processes at once: 10^18 < 2^60. */
#define DIGITS_AT_ONCE 18

/*
 * Store the residue of a decimal number modulo @modulus, of at most 62 bits, in
 * @residue. Return false unless @data is a decimal number without leading
 * zeros.
 */
static bool residue_of(const unsigned char *data, size_t size, uint64_t modulus,
		       uint64_t *residue)
{
	uint64_t sum = 0;

	if (!size || (size > 1 && data[0] == '0'))
		return false;
	for (size_t i = 0; i < size;) {
		uint64_t chunk = 0, base = 1;

		for (size_t end = i + DIGITS_AT_ONCE; i < size && i < end;
		     i++) {
			unsigned int digit = data[i] - (unsigned int)'0';

			if (digit > 9)
				return false;
			chunk = 10 * chunk + digit;
			base *= 10;
		}
		sum = (uint64_t)(((unsigned __int128)sum * base + chunk) %
				 modulus);
	}
	*residue = sum;
	return true;
}

static void print_data(const unsigned char *data, size_t count)
{
	if (!count)
		putchar('-');
	for (const unsigned char *end = data + count; data < end; data++) {
		if (isdigit(*data))
			putchar(*data);
		else
			printf("\\x%02x", *data);
	}
	putchar('\n');
}

static void do_read(const struct request *r, bool has_offset)
{
	const char *where = word(r, 3 + has_offset);
	uint64_t known, modulus, residue;
	size_t count, touched;
	struct memory m;

	if (!memory_map(&m, (size_t)number(r, 2), where))
		return;
	count = read_into(r, has_offset, &m, &touched);
	if (sscanf(where, "known=%" SCNu64 "/%" SCNu64, &known, &modulus) ==
		    2 &&
	    touched == count &&
	    residue_of(m.address, count, modulus, &residue) && residue == known)
		puts("=");
	else
		print_data(m.address, count);
	memory_unmap(&m);
}

/* Return true if none of the @size bytes at @memory has changed. */
static bool untouched(const unsigned char *memory, size_t size)
{
	return !size || (memory[0] == BATCH_FILL &&
			 !memcmp(memory, memory + 1, size - 1));
}

/*
 * Serve "verify": read F(n) for all n from the first to the last. The expected
 * residues follow from the first two by additions.
 */
static void do_verify(const struct request *r)
{
	uint64_t first = strtoull(word(r, 2), NULL, 0);
	uint64_t last = strtoull(word(r, 3), NULL, 0);
	uint64_t modulus = strtoull(word(r, 4), NULL, 0);
	uint64_t known = strtoull(word(r, 5), NULL, 0);
	uint64_t next = strtoull(word(r, 6), NULL, 0);
	size_t size = fibctl_room(last), room = size + BEHIND;
	uint64_t wrong = 0, first_wrong = 0;
	unsigned char *memory = malloc(room);

	if (!memory || !modulus) {
		errno = memory ? EINVAL : ENOMEM;
		answer(-1);
		free(memory);
		return;
	}
	memset(memory, BATCH_FILL, room);
	for (uint64_t n = first; n <= last; n++) {
		ssize_t ret = pread(file(r), memory, size, (off_t)n);
		size_t count = ret < 0 ? 0 : (size_t)ret;
		uint64_t residue, sum = (known + next) % modulus;

		if (!untouched(memory + count, room - count) ||
		    !residue_of(memory, count, modulus, &residue) ||
		    residue != known) {
			if (!wrong++)
				first_wrong = n;
			memset(memory, BATCH_FILL, room);
		} else {
			memset(memory, BATCH_FILL, count);
		}
		known = next;
		next = sum;
	}
	printf("%" PRIu64 " %" PRIu64 "\n", wrong, first_wrong);
	free(memory);
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

#define FIELD(name)                                     \
	{ #name, offsetof(struct fibdrv_measure, name), \
	  sizeof(((struct fibdrv_measure *)0)->name) }

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
		/*
		 * Copy the low bytes of the value. They come first on
		 * little-endian machines.
		 */
		if (!strcmp(f->name, name))
			memcpy((char *)m + f->offset, &value, f->size);
	}
}

static uint64_t ns_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void do_measure(const struct request *r)
{
	struct fibdrv_measure m = { .size = sizeof(m), .repeat = 1 };
	int fd = file(r), ret;
	void *address = &m;
	uint64_t begin, outside_ns;

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
	begin = ns_now();
	ret = ioctl(fd, FIBDRV_IOC_MEASURE, address);
	outside_ns = ns_now() - begin;
	printf("%d", ret < 0 ? -errno : ret);
	for (const struct field *f = fields; f < fields + FIELDS; f++) {
		uint64_t value = 0;

		memcpy(&value, (char *)&m + f->offset, f->size);
		printf(" %s=%" PRIu64, f->name, value);
	}
	printf(" outside_ns=%" PRIu64 "\n", outside_ns);
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
	const char *value = word(r, 2);

	put_text(open_attribute(r, O_WRONLY), value, strlen(value));
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

static bool serve(const struct request *r)
{
	const char *verb = r->word[0];

	if (!strcmp(verb, "read"))
		do_read(r, false);
	else if (!strcmp(verb, "pread"))
		do_read(r, true);
	else if (!strcmp(verb, "verify"))
		do_verify(r);
	else if (!strcmp(verb, "write"))
		do_write(r, 0);
	else if (!strcmp(verb, "pwrite"))
		do_write(r, 1);
	else if (!strcmp(verb, "measure"))
		do_measure(r);
	else if (!strcmp(verb, "count"))
		fibctl_count(r);
	else if (!strcmp(verb, "ready"))
		fibctl_ready();
	else if (!strcmp(verb, "show"))
		do_show(r);
	else if (!strcmp(verb, "store"))
		do_store(r);
	else if (!strcmp(verb, "stat"))
		do_stat();
	else
		return false;
	return true;
}

int fibctl_batch(void)
{
	return batch(FIBDRV_DEVICE, serve);
}
