/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * firstctl: the calls that the driver of stage 0 must answer.
 *
 * "firstctl batch" reads requests, a line each, and answers each at once with
 * one line; it ends at "quit". H is the number of an open file; an answer below
 * 0 is minus errno. In TEXT, \n is a newline, \_ a blank; without
 * TEXT there is none.
 *
 *	open, close, seek, ioctl, sync	see batch.h
 *	read H SIZE [good|null|half|fresh]
 *	pread H SIZE OFFSET	the answer, bytes touched, the text
 *	write H TEXT		digits stand behind it in memory
 *	badwrite H null|half	two bytes of memory that is not ours, or half
 *	fill H TEXT		writes until that fails: how many, and the error
 *	info H [null]		lines, bytes, room, mine
 *	clear H
 *	show NAME, store NAME TEXT	an attribute in sysfs
 *	stat			its kind and mode
 *	load FILE NONCE PARAMETERS, unload
 *				the driver's steps go to FIRST_STEPS
 *	fail K			the next K-th step that can fail does
 *
 * And with two threads at once, each with a file of its own; both on one CPU,
 * or, with the word two at the end, on two where there are two:
 *
 *	lines COUNT		each writes so many lines: how many it could, how
 *				many are then there, and how many that nobody has
 *				written
 *	same COUNT		both through one open file: how many, and mine
 *	follows COUNT		one writes, one reads and seeks: how many of its
 *				answers are no whole lines
 *	last			each writes one line, where one fits: how many
 *				could, and how many bytes are then there
 *	shows COUNT		one writes, one reads the attribute "lines"
 *	reads COUNT		each reads at the end of the text
 *	clears COUNT		one writes, one clears: lines written, cleared
 *	infos COUNT		the first also clears, one asks INFO: how many
 *				answers do not belong together
 */
#ifndef FIRSTCTL_H
#define FIRSTCTL_H

#include <stdbool.h>

#include "batch.h"

/* What interposer.c writes, behind a line that had the nonce. */
#define FIRST_STEPS "/first.steps"

/* Serves requests until there are no more; returns the exit status. */
int firstctl_batch(void);

/* A file of the device in sysfs, open; or -1. */
int open_attribute(const char *name, int flags);

/* Serves a request that needs two threads; false when it is none. */
bool serve_pair(const struct request *r);

/* What the debug kernel looks at, by the words of the command line:
 *
 *	firstctl concurrent SEED SECONDS
 *		random calls of four threads
 *	firstctl load-failure FILE
 *		loads that module with each allocation failing in turn
 *	firstctl open-failure
 *		opens the device so
 *
 * Returns the exit status, or -1 when it is none of these.
 */
int stress(int argc, char **argv);

#endif
