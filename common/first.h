/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The ABI of /dev/first, the device of stage 0: a notebook of Fibonacci
 * numbers. There is only one notebook, which all processes share.
 *
 * When the module is loaded, the notebook contains FIRST_BEGINNING lines: F(0),
 * F(1) and so on. Each line is a decimal number and a newline.
 *
 * open	  creates a counter for the open file: the number of lines written by
 *	  this file. ENOMEM if there is no memory for the counter.
 * lseek  sets the position, which counts bytes of the text as in a file, and
 *	  returns it. SEEK_SET, SEEK_CUR and SEEK_END are valid, and positions
 *	  from 0 to the end of the text; anything else is EINVAL. If the new
 *	  position is within a line, it becomes the first byte of this line.
 *	  The end of the text is not within a line.
 * read	  copies text from the position on: the number of bytes requested, or up
 *	  to the end of the text if that is less. Then it advances the position
 *	  by this number of bytes and returns the number. At the end of the text
 *	  it returns 0. EFAULT if the buffer is not the caller's memory; then
 *	  the position does not change.
 * write  takes one decimal number n, 0 to FIRST_MAX_N, with or without a plus
 *	  sign before it and a newline after it, at most FIRST_INPUT bytes in
 *	  total. A '\0' ends the input; the bytes after it are ignored. It
 *	  appends the line F(n) to the text, and returns the number of bytes
 *	  that the caller passed, not the length of the new line. EINVAL if the
 *	  input is not such a number, EFAULT if the buffer is not the caller's
 *	  memory, ENOSPC if the line does not fit. write does not use the
 *	  position.
 * sysfs  Files in FIRST_SYSFS. lines (read-only) is the number of lines in the
 *	  notebook. calls is the number of reads and writes, including failed
 *	  ones; it must be right up to 2,147,483,647. A call that Linux
 *	  restarts after a signal may count again. Writing a 0, with the
 *	  plus sign, newline or '\0' that write allows, resets it. Any other
 *	  input is EINVAL. (A device of another class has these files in its
 *	  own directory, to which /sys/dev/char/MAJOR:MINOR leads.)
 * ioctl  The requests below; any other request is ENOTTY.
 */
#ifndef FIRST_H
#define FIRST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FIRST_DEVICE "/dev/first"
#define FIRST_SYSFS "/sys/class/misc/first"
#define FIRST_BYTES 65536 /* size of the notebook */
#define FIRST_BEGINNING 10
#define FIRST_MAX_N 93
#define FIRST_LINE 21 /* F(93) has 20 digits */
#define FIRST_INPUT 16

/* All four values must be from the same moment. */
struct first_info {
	__u32 lines; /* number of lines in the notebook */
	__u32 bytes; /* size of the text */
	__u32 room; /* number of free bytes */
	__u32 mine; /* lines written by this open file, even if cleared since */
};

/* EFAULT if the structure is not in the caller's memory. */
#define FIRST_IOC_INFO _IOR('f', 0x10, struct first_info)
/* Deletes all lines of the notebook, and returns their number. */
#define FIRST_IOC_CLEAR _IO('f', 0x11)

#endif
