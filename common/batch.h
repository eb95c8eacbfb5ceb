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

#endif
