/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* fibstress calls: the interface shared by all kinds of random calls. */
#ifndef CALLS_H
#define CALLS_H

#include "fibstress.h"

#define SLOTS 16
#define RARE 2000

/* An open file, which dup and fork share, with its expected position. */
struct opened {
	int users;
	int mode;
	uint64_t position;
};

extern struct slot {
	int fd;
	struct opened *opened;
} slots[SLOTS];

extern uint64_t state, max_n, cap;
extern unsigned long calls;
/* The last value stored in ktime_measure. */
extern bool clock_on;
extern size_t page;
/* A read-only page. */
extern char *read_only;
/* A buffer of room_size bytes; an unmapped page follows it. */
extern char *room;
extern size_t room_size;

/* Count a call and clear errno. Must run before each call. */
void one_call(void);

uint64_t below(uint64_t bound);
bool one_in(uint64_t count);
uint64_t some_n(void);
uint64_t wild_number(void);
/* Return whether to skip a call that takes long; most of them are skipped. */
bool too_slow(uint64_t n);
/* Return a random open file, or NULL. */
struct slot *some_slot(void);
/* Return a random size, most often about the number of digits of F(@n). */
size_t some_size(uint64_t n);
/*
 * Return a buffer, which may be invalid. Set *@sound to the number of its
 * writable bytes.
 */
char *some_buffer(size_t size, size_t *sound);
/* Return whether @err is a valid error for invalid arguments. */
bool fits(int err);

void op_read(bool positioned);
void op_write(bool positioned);
void op_ioctl(void);
void op_measure(void);
void op_odd(void);

#endif
