/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * /dev/fibers: what a program asks for, and what it is told.
 *
 * A fiber is a stack and the registers that belong to it. Programs switch from
 * one to another by hand. All is asked for by ioctl on the open device; an
 * answer below zero is an error:
 *
 *	EPERM		the thread is no fiber yet: FIBERS_CONVERT comes first
 *	EEXIST		the thread is a fiber already
 *	ESRCH		there is no such fiber: never made, gone, or another
 *			process's (that of a parent, after fork)
 *	EBUSY		the fiber runs: in another thread, or here
 *	EOWNERDEAD	a thread has ended in this fiber, or it was its first
 *	EACCES		it is another thread's first fiber
 *	ENOSPC		too many: fibers, or keys
 *	EOPNOTSUPP	threads of this process have registers of unlike size
 *	EINVAL, EFAULT	bad arguments, a stack that cannot be written to
 *	ENOMEM		no memory
 *
 * Fibers are a process's: all its threads share them, however often it opens
 * the device. They end with its last open file.
 */
#ifndef FIBERS_H
#define FIBERS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FIBERS_DEVICE "/dev/fibers"

/* So many of a process's. */
#define FIBERS_MOST 16384
#define FIBERS_KEYS 1024

/**
 * struct fibers_create - what a new fiber is made of
 * @stack: the lowest address of its stack
 * @size: bytes of the stack, 128 at least
 * @entry: the function that it runs; when that returns, the process ends by
 *	SIGSEGV, since there is nowhere to return to
 * @argument: the function's argument
 */
struct fibers_create {
	__u64 stack;
	__u64 size;
	__u64 entry;
	__u64 argument;
};

/**
 * struct fibers_local - a value of the calling fiber's own
 * @key: from FIBERS_LOCAL_ALLOC
 * @value: what is to be kept, or what was found; 0 until it is set
 */
struct fibers_local {
	__u64 key;
	__u64 value;
};

/**
 * FIBERS_CONVERT - the calling thread becomes a fiber, its first one
 *
 * Only this thread can ever run it: its stack is the thread's.
 *
 * Return: the fiber's id, 1 or more.
 */
#define FIBERS_CONVERT _IO('F', 1)

/**
 * FIBERS_CREATE - make a fiber, which waits until somebody switches to it
 *
 * Its floating-point registers begin as the caller's are now.
 *
 * Return: its id.
 */
#define FIBERS_CREATE _IOW('F', 2, struct fibers_create)

/**
 * FIBERS_SWITCH - leave this fiber, go on in that whose id is the argument
 *
 * General and floating-point registers are the fiber's; TLS, errno and the
 * signal mask stay the thread's. A fiber is in one thread at a time.
 *
 * Return: 0, when somebody switches back.
 */
#define FIBERS_SWITCH _IO('F', 3)

/**
 * FIBERS_DELETE - forget a fiber that waits; its stack is the caller's to free
 */
#define FIBERS_DELETE _IO('F', 4)

/**
 * FIBERS_LOCAL_ALLOC - a key that is free, the same for all fibers
 *
 * Return: the key, from 0 to FIBERS_KEYS - 1; its value is 0 in every fiber.
 */
#define FIBERS_LOCAL_ALLOC _IO('F', 5)

/** FIBERS_LOCAL_FREE - give the key that is the argument back */
#define FIBERS_LOCAL_FREE _IO('F', 6)

/** FIBERS_LOCAL_GET - the calling fiber's value of a key */
#define FIBERS_LOCAL_GET _IOWR('F', 7, struct fibers_local)

/** FIBERS_LOCAL_SET - keep a value under a key, in the calling fiber */
#define FIBERS_LOCAL_SET _IOW('F', 8, struct fibers_local)

#endif
