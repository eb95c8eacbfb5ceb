/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* fibstress calls: what its kinds of random calls share. */
#ifndef CALLS_H
#define CALLS_H

#include "fibstress.h"

#define SLOTS 16
#define RARE 2000

/* An open file, which dup and fork share; its position as it should be. */
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
/* What ktime_measure was set to last. */
extern bool clock_on;
extern size_t page;
/* A page to be read only. */
extern char *read_only;
/* @room_size bytes, then nothing. */
extern char *room;
extern size_t room_size;

/* To be said before each call. */
void one_call(void);

uint64_t below(uint64_t bound);
bool one_in(uint64_t count);
uint64_t some_n(void);
uint64_t wild_number(void);
/* Of calls that take long, one in some is made. */
bool too_slow(uint64_t n);
/* One that is open, or NULL. */
struct slot *some_slot(void);
/* For about as many digits as F(@n) has. */
size_t some_size(uint64_t n);
/* Where data goes; @sound is how many bytes of it are there, and writable. */
char *some_buffer(size_t size, size_t *sound);
/* Whether @err is an error for arguments that are not sound. */
bool fits(int err);

void op_read(bool positioned);
void op_write(bool positioned);
void op_ioctl(void);
void op_measure(void);
void op_odd(void);

#endif
