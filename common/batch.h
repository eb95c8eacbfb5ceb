/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Requests as text, one a line, each answered by one line: what the batch modes
 * of the clients of all devices share. Known everywhere, with H the number of
 * an open file, 0 to BATCH_FILES - 1:
 *
 *	open H [r|w|rw]		0
 *	close H			0
 *	seek H OFFSET WHENCE	the new position; WHENCE as a number
 *	ioctl H REQUEST		what it returns; its argument is a null pointer
 *	sync TEXT		TEXT, to find the place in the answers
 *	quit			nothing: ends the batch
 */
#ifndef BATCH_H
#define BATCH_H

#include <stdbool.h>
#include <stddef.h>

#define BATCH_FILES 32
#define BATCH_WORDS 32

struct request {
	int count;
	char *word[BATCH_WORDS];
};

/**
 * batch() - answer requests from standard input until there are no more
 * @device: what "open" opens
 * @serve: answers a request of the client's own; false when it knows none such
 *
 * Return: the exit status: 0, or 2 when there was a request that nobody knows.
 */
int batch(const char *device, bool (*serve)(const struct request *r));

/* Word @i of a request, as a number or as it is; 0 or "" when there is none. */
long long number(const struct request *r, int i);
const char *word(const struct request *r, int i);

/* The file of request word 1; -1, which no call takes, when H is none. */
int file(const struct request *r);

/* Prints what a call returned, or minus errno. */
void answer(long long ret);

/* Memory is filled with this beforehand: no text, so a change is seen. */
#define BATCH_FILL 0xa5

/**
 * struct memory - pages that a call is given
 * @address: what the call is given: the first byte, or what the request asks for
 * @pages: the pages themselves
 * @size: bytes in them: a page behind the buffer at least, for a stray write
 * @fill: what the bytes are before the call
 */
struct memory {
	unsigned char *address;
	unsigned char *pages;
	size_t size;
	unsigned char fill;
};

/**
 * memory_map() - pages for a buffer
 * @m: the pages; to be given to memory_unmap
 * @size: bytes of the buffer
 * @where: "null" for a null pointer, "half" for a buffer of which the second half is
 *	not there, "fresh" for pages that are not there until they are touched;
 *	anything else for a good one
 *
 * Return: whether there is memory; if not, answer(-1) has been called.
 */
bool memory_map(struct memory *m, size_t size, const char *where);
void memory_unmap(const struct memory *m);

/**
 * read_into() - read H SIZE, or pread H SIZE OFFSET
 * @r: the request
 * @has_offset: whether it is pread
 * @m: where the data goes
 * @touched: how many bytes there have changed
 *
 * Prints what the call returned, or minus errno, and how many bytes have changed; the
 * rest of the line is the caller's.
 *
 * Return: the bytes at @m->address that may be looked at: none after an error, or
 * if not all of the buffer is there.
 */
size_t read_into(const struct request *r, bool has_offset,
		 const struct memory *m, size_t *touched);

/* Writes to an open file, closes it and prints what the write returned. */
void put_text(int fd, const char *text, size_t size);

#endif
