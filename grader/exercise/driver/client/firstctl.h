/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * firstctl: make the calls that the driver of stage 0 must answer.
 *
 * "firstctl batch" reads requests, one on each line, and answers each at once
 * with one line; it ends at "quit". H is the number of an open file; an answer
 * below 0 is minus errno. In TEXT, \n is a newline, \_ a blank, \0 a zero byte;
 * a request without TEXT has an empty one.
 *
 *	open, close, seek, ioctl, sync	see batch.h
 *	read H SIZE [good|null|half|fresh|@PLACE|gap:FROM:PAGES]
 *	pread H SIZE OFFSET [...]	the return value, bytes touched, the text;
 *				the buffer begins PLACE bytes after the beginning
 *				of a page; or PAGES pages are not mapped, the
 *				first of which begins FROM bytes after the
 *				beginning of the buffer (then the answer is the
 *				return value)
 *	longread H SIZE OFFSET	the return value and the text; the buffer may have
 *				2 GB
 *	write H TEXT		if the size is even, digits follow the text in
 *				memory; if it is odd, the memory ends there; the
 *				call is write or writev
 *	pwrite H TEXT OFFSET	the same, at an offset
 *	longwrite H TEXT SIZE	zero bytes follow the text
 *	badwrite H SIZE null|gap:FROM:PAGES [end]
 *				write SIZE zeros from NULL, or from memory without
 *				some pages; the second byte may end the text
 *	fill H TEXT		write until a write fails: the number of writes,
 *				and the error
 *	info H [null|@PLACE|gap:FROM:PAGES|at:ADDRESS]
 *				lines, bytes, room, mine
 *	clear H
 *	show NAME, store NAME TEXT	an attribute in sysfs
 *	stat [NAME]		the kind and mode of the device or an attribute
 *	longstore NAME TEXT SIZE PLACE
 *				SIZE zeros, but TEXT at PLACE, into an attribute
 *	turns SEED		let two threads make the following calls, in random
 *				order; 0 ends this
 *	exists PATH		0 if there is a file of this name
 *	text PATH		0 and the text of a file
 *	load FILE NONCE PARAMETERS, unload
 *				the driver's steps go to FIRST_STEPS
 *	fail K			make one of the next steps fail: the K-th that
 *				can fail
 *	change OFFSET		change the digit at OFFSET in the notebook's
 *				memory
 *	opened H		report the private_data of a file in the steps
 *	blocks			report the number of the driver's blocks of memory
 *				in the steps
 *	many COUNT [info]	open COUNT files and write a line to each: the
 *				number of open files; the number of files whose
 *				write fails, or whose INFO does not count one
 *				line
 *	flags COUNT SEED	open the device COUNT times with random flags: how
 *				often that succeeds
 *	count H NAME SEED MOST OFTEN
 *				once after a load: change the counter calls,
 *				lines or mine in the driver's memory to a random
 *				number of each length and to MOST. If the
 *				counter is not found there, make calls until it
 *				must be OFTEN. The answer is "right", or the
 *				first number that the counter does not show, and
 *				its text
 *
 * The following requests run two callers, each with a file of its own. The
 * files have different names in different directories. Both callers are
 * threads on one CPU. If the request ends with the word "two", they are two
 * processes, on two CPUs if the machine has a second CPU:
 *
 *	lines COUNT		each writes COUNT lines: lines written, lines in
 *				the text, and lines that neither caller wrote
 *	same COUNT		both write through one open file: lines written,
 *				mine
 *	follows COUNT		one writes, one reads and seeks: the number of
 *				reads that do not return whole lines
 *	last			each writes a line when only one line fits:
 *				lines written, and bytes in the text
 *	shows COUNT		one writes, one reads the attribute "lines": the
 *				number of reads that are wrong
 *	reads COUNT		each reads at the end of the text, writes, and makes
 *				calls that fail
 *	opens COUNT [info]	each opens and closes the device: the number of
 *				files; "info": only files that count their first
 *				line
 *	resets COUNT [both]	one reads, one sets the attribute "calls" to 0 and
 *				reads it: the number of answers that are wrong;
 *				"both": each reads and sets "calls" to 0
 *	clears COUNT		one writes, one clears: lines written, lines
 *				cleared, and the number of calls that failed or
 *				did not clear all lines
 *	infos COUNT		one writes and clears, one calls INFO for the
 *				same open file: the number of calls, and of
 *				inconsistent results
 *	wholes COUNT		one writes and clears, one reads and seeks: the
 *				number of reads that do not return whole lines
 *
 * While the callers run, signals interrupt their calls.
 *
 *	killed KIND 1|2		make a call in a process that is killed when it
 *				waits for a lock (1), or when the call begins (2):
 *				whether it was killed. KIND is
 *				write, read, seek, info, clear, open, close, lines
 *				or calls (a read of the attribute), or store (0
 *				to calls)
 */
#ifndef FIRSTCTL_H
#define FIRSTCTL_H

#include <stdbool.h>

#include "batch.h"

/*
 * The file for the trace of call_trace.c. Its first line holds the nonce until
 * call_trace.c has read and erased it.
 */
#define FIRST_STEPS "/first.steps"

/* Serve requests until the input ends. Return the exit status. */
int firstctl_batch(void);

/* Open an attribute of the device in sysfs. Return its fd or -1. */
int open_attribute(const char *name, int flags);

/*
 * Serve a request that needs two callers. Return false for any other request.
 */
bool serve_pair(const struct request *r);

/* Run a stress test for the debug kernel, by the words of the command line:
 *
 *	firstctl concurrent SEED SECONDS
 *		random calls of four threads
 *	firstctl load-failure FILE
 *		load that module with each allocation failing in turn
 *	firstctl open-failure
 *		open the device with each allocation failing in turn
 *
 * Return the exit status, or -1 if the command is none of these.
 */
int stress(int argc, char **argv);

#endif
