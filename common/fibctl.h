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
 *	verify H FIRST LAST MODULUS RESIDUE NEXT
 *				WRONG N: for how many n from FIRST to LAST a
 *				pread() does not return the digits of F(n), and
 *				the first of these n. F(FIRST) leaves RESIDUE
 *				modulo MODULUS, F(FIRST + 1) leaves NEXT; the
 *				residues of the others follow by additions
 *	write H SIZE		RETURNED
 *	pwrite H SIZE N		RETURNED
 *	ioctl H REQUEST		RETURNED, for any request by its number
 *	measure H NAME=VALUE...	RETURNED NAME=VALUE...: the fields of struct
 *				fibdrv_measure by their names; size is right
 *				unless given, reserved sets the last word,
 *				address=0 passes a null pointer. Behind them
 *				outside_ns, the time of the whole call by its
 *				caller's clock
 *	count H N		RETURNED by one pread() for F(N), with marker
 *				instructions around it, and one for each digit
 *				behind it, of which the emulator takes note
 *	ready			0; the emulator has read the addresses that it
 *				is to take note of
 *	show NAME		0 and the text of that sysfs file
 *	store NAME VALUE	bytes written
 *	stat			0, mode (octal), user and group of the device
 *	sync TEXT		TEXT, to find the place in the answers
 *	quit			nothing: ends the batch
 *
 * BUFFER says where the data goes: good (the default), null, or half (only the
 * first half of SIZE is mapped). known=RESIDUE/MODULUS is good, and DATA "=" if no
 * other memory has changed and the data is a decimal number with this residue,
 * because the line to a machine is slow. A modulus has at most 62 bits.
 */
#ifndef FIBCTL_H
#define FIBCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fibdrv.h"

/* Room for the digits of F(@n): log10(phi) < 1/4 digits for each n. */
static inline size_t fibctl_room(uint64_t n)
{
	return n / 4 + 2;
}

/**
 * fibctl_user() - time read() of F(@n) from user space, and print a table
 * @fd: the device
 * @n: which number
 * @count: how many calls, at least 2; the first is shown apart
 * @lock: lock all memory of the process and touch it beforehand
 *
 * Each read() is followed by a write() and an ioctl(), for the time that the
 * same work takes by the kernel's clock. The difference is what it costs to
 * enter the kernel, to find room for the digits and to copy them out; where it
 * is small it holds the noise of three measurements.
 *
 * Return: 0, or errno; ENODATA when the kernel's clock is off.
 */
int fibctl_user(int fd, uint64_t n, size_t count, bool lock);

struct request;

/**
 * fibctl_count() - serve the request "count" of the batch mode
 */
void fibctl_count(const struct request *r);

/**
 * fibctl_ready() - serve the request "ready" of the batch mode
 */
void fibctl_ready(void);

/**
 * fibctl_batch() - serve requests from standard input until quit or its end
 *
 * Return: exit status: 0, or 2 after a request that could not be understood.
 */
int fibctl_batch(void);

#endif
