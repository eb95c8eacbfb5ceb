/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The ABI of /dev/fibonacci, the same for every stage. F(0) = 0, F(1) = 1.
 *
 * Much of it comes from the older driver that the course is based on, because
 * programs use it. Do not imitate these parts: a position that is a number n
 * and not a place in a file; a read() that does not advance the position and
 * has no end of file; a write() that ignores its data and returns nanoseconds;
 * a class for a single device. /dev/first of stage 0 has none of these.
 *
 * open	   may be called any number of times; each open file has its own
 *	   position.
 * lseek   selects F(position), 0 <= position <= max_n. SEEK_END counts from
 *	   max_n. Any other position is EINVAL, and is never clamped.
 * read    copies the decimal digits of F(position), without newline or NUL.
 *	   Returns their number. Does not change the position. pread(fd, buf,
 *	   size, n) reads F(n) and ignores the position.
 *	   ERANGE: size is too small; EINVAL: n > max_n; ENOMEM; EINTR: the
 *	   caller was killed; EIO: the stage violates its contract, and the
 *	   kernel log describes how. After these errors nothing is copied.
 *	   EFAULT: not all of buf is the caller's memory; some digits may have
 *	   been copied.
 * write   computes F(position) and returns the time of this computation in
 *	   nanoseconds by the kernel's clock, at least 1. The data is never
 *	   read (but the kernel refuses an address that no user can have:
 *	   EFAULT). EINVAL, ENOMEM, EINTR, EIO as above. If ktime_measure is 0,
 *	   it computes nothing and returns the number of bytes given, which the
 *	   kernel limits to 0x7ffff000.
 * ioctl   FIBDRV_IOC_MEASURE below. ENOTTY for any other request.
 *
 * Files in /sys/class/fibonacci/fibonacci/:
 *	stage		the number of this stage, in decimal (read-only)
 *	max_n		the largest valid n (read-only)
 *	ktime_measure	1 (default) or 0: whether write measures; EINVAL for
 *			anything that is not the decimal number 0 or 1
 *
 * Two threads that share one open file should use pread: the kernel stores the
 * position again after each read, which undoes a concurrent lseek.
 */
#ifndef FIBDRV_H
#define FIBDRV_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FIBDRV_DEVICE "/dev/fibonacci"
#define FIBDRV_SYSFS "/sys/class/fibonacci/fibonacci"

/* The maximum number of repetitions of one FIBDRV_IOC_MEASURE. */
#define FIBDRV_MAX_REPEAT (1u << 20)

/**
 * struct fibdrv_measure - measure many computations inside the kernel
 * @size: in: sizeof(struct fibdrv_measure); anything else is EINVAL
 * @flags: in: must be 0
 * @n: in: the largest n of the batch, at most max_n
 * @spread: in: repetition i computes F(n - i % (spread + 1)); at most n
 * @repeat: in: number of repetitions, 1 to FIBDRV_MAX_REPEAT
 * @nonce: in: initial value of the digest, so that each request has its own
 *	digest
 * @compute_ns: out: kernel time of all repetitions of compute and release
 * @compute_cycles: out: the same in TSC cycles; without a TSC, in the kernel's
 *	unit for cycles, or 0
 * @decimal_ns: out: kernel time of all conversions to decimal
 * @decimal_cycles: out: the same in cycles
 * @compute_allocations: out: blocks allocated by compute, all repetitions
 * @decimal_allocations: out: blocks allocated by decimal, all repetitions
 * @peak_bytes: out: the maximum number of bytes that one call for F(n) held
 * @limbs: out: limbs of F(n)
 * @digits: out: decimal digits produced, all repetitions
 * @digest: out: see below
 * @reserved: in: must be 0
 *
 * The times and counts are totals, not means. Each repetition must produce its
 * number and its digits, because @digest depends on them: it starts as @nonce,
 * and for each repetition in turn
 *
 *	digest = (digest ^ fnv1a(digits of the repetition)) * 0x100000001b3
 *
 * modulo 2^64, where fnv1a is the 64-bit FNV-1a hash. After EINVAL, ENOMEM,
 * EINTR and EIO nothing is written back; after EFAULT a part may have been.
 */
struct fibdrv_measure {
	__u32 size;
	__u32 flags;
	__u64 n;
	__u32 spread;
	__u32 repeat;
	__u64 nonce;
	__u64 compute_ns;
	__u64 compute_cycles;
	__u64 decimal_ns;
	__u64 decimal_cycles;
	__u64 compute_allocations;
	__u64 decimal_allocations;
	__u64 peak_bytes;
	__u64 limbs;
	__u64 digits;
	__u64 digest;
	__u64 reserved[8];
};

#define FIBDRV_IOC_MEASURE _IOWR('F', 0x01, struct fibdrv_measure)

#endif
