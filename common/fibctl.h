/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fibctl, a client of /dev/fibonacci, and its batch mode: system calls as text.
 *
 * `fibctl batch` reads requests, one on each line, and answers each by one
 * line: the return value of the call, or minus errno, and then further results.
 * It does not judge the results, because the program that sent the requests
 * knows the correct answers. H is the number of an open file, from 0 to 31.
 *
 *	open H [r|w|rw]		0
 *	close H			0
 *	seek H OFFSET WHENCE	the new position; WHENCE is a number: 0 SET,
 *				1 CUR, 2 END
 *	read H SIZE [BUFFER]	RETURNED TOUCHED DATA: the number of bytes that
 *				have changed in the buffer or behind it, and the
 *				bytes that were read; a byte that is not a digit
 *				is printed as \xNN, no bytes as "-"
 *	pread H SIZE N [BUFFER]	the same
 *	verify H FIRST LAST MODULUS RESIDUE NEXT
 *				WRONG N: the number of n from FIRST to LAST for
 *				which pread() does not return the digits of
 *				F(n), and the first such n. RESIDUE is F(FIRST)
 *				modulo MODULUS, and NEXT is F(FIRST + 1) modulo
 *				MODULUS; fibctl adds them to get the residues of
 *				the other n
 *	write H SIZE		RETURNED
 *	pwrite H SIZE N		RETURNED
 *	ioctl H REQUEST		RETURNED; REQUEST is any number
 *	measure H NAME=VALUE...	RETURNED NAME=VALUE...: the fields of struct
 *				fibdrv_measure by their names; size is set to
 *				the correct value unless given, reserved sets
 *				the last word, address=0 passes a null pointer.
 *				The last field is outside_ns, the time of the
 *				whole call by the clock of this process
 *	count H N		RETURNED by one pread() for F(N). Marker
 *				instructions surround the call, and one for each
 *				digit follows; the emulator records them
 *	ready			0; the emulator has read the addresses that it
 *				must record
 *	show NAME		0 and the text of that sysfs file
 *	store NAME VALUE	the number of bytes written
 *	stat			0, mode (octal), user and group of the device
 *	sync TEXT		TEXT, which marks a place in the answers
 *	quit			no answer: ends the batch
 *
 * BUFFER is good (the default), null, or half (only the first half of SIZE is
 * mapped). known=RESIDUE/MODULUS is a good buffer, too. DATA is then "=" if no
 * other memory has changed and the data is a decimal number with this residue.
 * This saves time, because the channel to a machine is slow. A modulus has at
 * most 62 bits.
 */
#ifndef FIBCTL_H
#define FIBCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fibdrv.h"

/*
 * Return a buffer size for the digits of F(@n): log10(phi) < 1/4 digits per n.
 */
static inline size_t fibctl_room(uint64_t n)
{
	return n / 4 + 2;
}

/**
 * fibctl_user() - time read() of F(@n) from user space, and print a table
 * @fd: the device
 * @n: the index of the number
 * @count: number of calls, at least 2; the first one is shown separately
 * @lock: lock all memory of the process, and touch it before the first call
 *
 * A write() and an ioctl() follow each read(). They measure the same work by
 * the kernel's clock. The difference is the cost of entering the kernel,
 * allocating memory for the digits and copying them. A small difference is
 * mostly the noise of three measurements.
 *
 * Return: 0, or errno; ENODATA if ktime_measure is 0.
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
 * fibctl_batch() - serve requests from standard input until "quit" or end of
 * file
 *
 * Return: the exit status: 0, or 2 after an invalid request.
 */
int fibctl_batch(void);

#endif
