/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The ABI of /dev/fibonacci, the same for every stage. F(0) = 0, F(1) = 1.
 *
 * Much of it is inherited from the driver that the course grew out of, and kept
 * for the programs that know it. Not to be imitated: a position that is a
 * number and not a place in a file, a read() that neither moves it nor ever
 * ends, a write() that ignores its data and returns nanoseconds, a class of its
 * own for one device. /dev/first of stage 0 has none of these.
 *
 * open	   any number of times at once; every open file has its own position.
 * lseek   selects F(position), 0 <= position <= max_n; SEEK_END counts from
 *	   max_n. EINVAL outside that range: a position is never clamped.
 * read    the decimal digits of F(position), without newline or NUL; returns
 *	   their number and leaves the position where it is. pread(fd, buf,
 *	   size, n) asks for F(n) whatever the position.
 *	   ERANGE: size is too small; EINVAL: n > max_n; ENOMEM; EINTR:
 *	   killed meanwhile; EIO: the stage breaks its contract, the kernel
 *	   log says how. With these nothing is copied. EFAULT: buf is not, or
 *	   not all of it, the caller's; some digits may have been copied.
 * write   computes F(position) and returns how many nanoseconds that took by
 *	   the kernel's clock, at least 1. The data is never looked at (the
 *	   kernel refuses an address no user can have: EFAULT).
 *	   EINVAL, ENOMEM, EINTR, EIO as above. With ktime_measure at 0 it
 *	   computes nothing and returns the number of bytes given, of which
 *	   the kernel lets pass 0x7ffff000 at the most.
 * ioctl   FIBDRV_IOC_MEASURE below. ENOTTY for any other request.
 *
 * Below /sys/class/fibonacci/fibonacci/:
 *	stage		which stage this is, a decimal number (read-only)
 *	max_n		the largest n served (read-only)
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

/* The most repetitions one FIBDRV_IOC_MEASURE may ask for. */
#define FIBDRV_MAX_REPEAT (1u << 20)

/**
 * struct fibdrv_measure - measure many computations inside the kernel
 * @size: in: sizeof(struct fibdrv_measure); anything else is EINVAL
 * @flags: in: must be 0
 * @n: in: the largest n of the batch, at most max_n
 * @spread: in: repetition i computes F(n - i % (spread + 1)); at most n
 * @repeat: in: number of repetitions, 1 to FIBDRV_MAX_REPEAT
 * @nonce: in: where the digest starts, so that an answer fits one question
 * @compute_ns: out: kernel time of all repetitions of compute and release
 * @compute_cycles: out: the same in TSC cycles; without a TSC in what the
 *	kernel counts for cycles there, or 0
 * @decimal_ns: out: kernel time of all conversions to decimal
 * @decimal_cycles: out: the same in cycles
 * @compute_allocations: out: blocks allocated by compute, all repetitions
 * @decimal_allocations: out: blocks allocated by decimal, all repetitions
 * @peak_bytes: out: most bytes one call for F(n) held at any moment
 * @limbs: out: limbs of F(n)
 * @digits: out: decimal digits produced, all repetitions
 * @digest: out: see below
 * @reserved: in: must be 0
 *
 * Totals, not means. The numbers and digits of a repetition are really
 * produced: @digest starts as @nonce and takes in each repetition in turn,
 *
 *	digest = (digest ^ fnv1a(digits of the repetition)) * 0x100000001b3
 *
 * modulo 2^64, fnv1a being the 64-bit FNV-1a hash. On EINVAL, ENOMEM, EINTR
 * and EIO nothing is written back; on EFAULT part of it may have been.
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
