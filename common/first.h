/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The ABI of /dev/first, which stage 0 writes: a notebook of Fibonacci numbers.
 * There is one notebook; all who open the device share it.
 *
 * At load it holds the lines F(0) to F(FIRST_BEGINNING - 1), each a number and
 * a newline.
 *
 * open	  gives each open file a count of its own: the lines it has written.
 *	  ENOMEM when there is no memory for it.
 * lseek  SEEK_SET, SEEK_CUR and SEEK_END count bytes of the text, as in a file,
 *	  from 0 to its end; all else is EINVAL. From a byte in the middle of a
 *	  line it goes back to the first byte of that line. It returns the new
 *	  position. The end of the text belongs to no line: it stays the end.
 * read	  copies the text from the position on, as much as there is and fits,
 *	  and moves the position behind it. At the end of the text it returns 0.
 *	  EFAULT for memory that is not the caller's; the position stays.
 * write  takes one n, 0 to FIRST_MAX_N, in decimal, a newline behind it or not,
 *	  at most FIRST_INPUT bytes in all; puts the line F(n) at the end of the
 *	  text and returns how many bytes the caller gave, not how many the line
 *	  has. EINVAL for what is no such n, EFAULT as read has it, ENOSPC when
 *	  the line does not fit. It neither looks at the position nor moves it.
 * sysfs  below FIRST_SYSFS: lines, how many there are in the notebook, is
 *	  read-only; calls, how many reads and writes there were, those that
 *	  failed as well, takes 0 in decimal, a newline behind it or not, which
 *	  sets it back. All else is EINVAL. (A device of another class has these
 *	  files in its own directory, where /sys/dev/char/MAJOR:MINOR leads.)
 * ioctl  as below; any other request is ENOTTY.
 */
#ifndef FIRST_H
#define FIRST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FIRST_DEVICE "/dev/first"
#define FIRST_SYSFS "/sys/class/misc/first"
#define FIRST_BYTES 65536 /* room in the notebook */
#define FIRST_BEGINNING 10
#define FIRST_MAX_N 93
#define FIRST_LINE 21 /* F(93) has 20 digits */
#define FIRST_INPUT 16

/* All of one moment: the four belong together. */
struct first_info {
	__u32 lines; /* in the notebook */
	__u32 bytes; /* of text */
	__u32 room; /* bytes that are left */
	__u32 mine; /* lines that this open file wrote, since cleared or not */
};

/* EFAULT for memory that is not the caller's. */
#define FIRST_IOC_INFO _IOR('f', 0x10, struct first_info)
/* Empties the notebook; returns how many lines there were. */
#define FIRST_IOC_CLEAR _IO('f', 0x11)

#endif
