/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The interface of the batch modes of all devices' clients. Each line of the
 * input is a request, and each request is answered by one line. All clients
 * know the following requests, where H is the number of an open file, from 0 to
 * BATCH_FILES - 1:
 *
 *	open H [r|w|rw][ants]	0; the letters stand for O_APPEND, O_NONBLOCK,
 *				O_TRUNC and O_SYNC
 *	close H			0
 *	seek H OFFSET WHENCE	the new position; WHENCE is a number
 *	ioctl H REQUEST [memory]	the return value; the argument is a null pointer
 *				unless memory is asked for
 *	load FILE, unload NAME	0; a module without parameters
 *	sync TEXT		TEXT, which marks a place in the answers
 *	close-all		0: closes all open files
 *	quit			no answer: ends the batch
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
 * batch() - answer requests from standard input until it ends
 * @device: the path of the device, for the request "open"
 * @serve: answers the requests that only this client knows; returns false for
 *	unknown requests
 *
 * Return: the exit status: 0, or 2 after an unknown request.
 */
int batch(const char *device, bool (*serve)(const struct request *r));

/* Answer a request that all clients know. Return false for other requests. */
bool serve_any(const struct request *r, const char *device);

/*
 * Return word @i of a request, as a number or as text; 0 or "" if it is
 * missing.
 */
long long number(const struct request *r, int i);
const char *word(const struct request *r, int i);

/*
 * Return the file of request word 1, or -1, an invalid descriptor, for a bad H.
 */
int file(const struct request *r);

/* Print the result of a call: its return value, or minus errno. */
void answer(long long ret);

/* Memory is filled with this byte before a call. It occurs in no text. */
#define BATCH_FILL 0xa5

/**
 * struct memory - the memory that a system call gets as its buffer
 * @address: the address passed to the call: the first byte, or an invalid
 *	address
 * @pages: the mapped pages
 * @size: bytes in the pages; at least one page follows the buffer, to detect
 *	stray writes
 * @fill: the value of every byte before the call
 */
struct memory {
	unsigned char *address;
	unsigned char *pages;
	size_t size;
	unsigned char fill;
};

/**
 * memory_map() - map pages for a buffer
 * @m: the pages; memory_unmap must release them
 * @size: bytes of the buffer
 * @where: "null" for a null pointer; a number for a buffer of which only this
 *	many bytes are mapped, or "half" of them; "fresh" for pages that are
 *	mapped only when they are touched; anything else for a valid buffer
 *
 * Return: true, or false after answer(-1) if there is not enough memory.
 */
bool memory_map(struct memory *m, size_t size, const char *where);
void memory_unmap(const struct memory *m);

/*
 * Remove the pages from the page table before each second call. They keep their
 * bytes, but a driver that accesses them makes the kernel map them again.
 */
void memory_vary(const struct memory *m);

/* Return the number of mapped bytes from @m->address on. */
size_t memory_mapped(const struct memory *m);

/**
 * read_into() - serve the request "read H SIZE" or "pread H SIZE OFFSET"
 * @r: the request
 * @has_offset: true if the request is pread
 * @m: the memory that the call reads into
 * @touched: set to the number of bytes in @m that have changed
 *
 * Print the return value, or minus errno, and the number of changed bytes. The
 * caller prints the rest of the line.
 *
 * Return: the number of bytes at @m->address that the call has read and the
 * caller may access; 0 after an error.
 */
size_t read_into(const struct request *r, bool has_offset,
		 const struct memory *m, size_t *touched);

/* Write to an open file, close it, and print the return value of the write. */
void put_text(int fd, const char *text, size_t size);

#endif
