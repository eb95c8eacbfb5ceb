/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fibctl, and its batch mode: system calls as text.
 *
 * `fibctl batch` reads one request a line and answers each with one line: what
 * the call returned, or minus errno, and what belongs to it. It judges nothing;
 * whoever sent the requests knows what the answers should be. H is a number
 * from 0 to 31 that names an open file.
 *
 *	open H [r|w|rw]		0
 *	close H			0
 *	seek H OFFSET WHENCE	the new position; WHENCE as a number: 0 SET,
 *				1 CUR, 2 END
 *	read H SIZE [BUFFER]	RETURNED TOUCHED DATA: how many bytes of memory
 *				have changed, in the buffer or behind it; the
 *				bytes read, those that are no digits as \xNN,
 *				"-" for none
 *	pread H SIZE N [BUFFER]	the same
 *	write H SIZE		RETURNED
 *	pwrite H SIZE N		RETURNED
 *	ioctl H REQUEST		RETURNED, for any request by its number
 *	measure H NAME=VALUE...	RETURNED NAME=VALUE...: the fields of struct
 *				fibdrv_measure by their names; size is right
 *				unless given, reserved sets the last word,
 *				address=0 passes a null pointer
 *	show NAME		0 and the text of that sysfs file
 *	store NAME VALUE	bytes written
 *	stat			0, mode (octal), user and group of the device
 *	sync TEXT		TEXT, to find the place in the answers
 *	quit			nothing: ends the batch
 *
 * BUFFER says where the data goes: good (the default), null, or half (only the
 * first half of SIZE is mapped).
 */
#ifndef FIBCTL_H
#define FIBCTL_H

#include <stdint.h>
#include <sys/types.h>

#include "fibdrv.h"

/**
 * fibctl_digits() - the digits of F(@n) in new memory, not terminated
 *
 * Return: 0, or errno; then there is nothing to free.
 */
int fibctl_digits(int fd, uint64_t n, char **digits, ssize_t *count);

/**
 * fibctl_batch() - serve requests from standard input until quit or its end
 *
 * Return: exit status: 0, or 2 after a request that could not be understood.
 */
int fibctl_batch(void);

#endif
