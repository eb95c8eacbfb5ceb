/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The user interface of /dev/fibers.
 *
 * A fiber is a stack and the registers that belong to it. Programs switch
 * explicitly from one fiber to another. All requests are ioctls on the open
 * device; a negative result is an error:
 *
 *	EPERM		the thread is not a fiber yet: call FIBERS_CONVERT first
 *	EEXIST		the thread is a fiber already
 *	ESRCH		no such fiber: never created, deleted, or another
 *			process's (for example the parent's, after fork)
 *	EBUSY		the fiber runs in this thread or in another one
 *	EOWNERDEAD	a thread ended in this fiber, or the fiber was the
 *			first one of a thread that has ended
 *	EACCES		it is another thread's first fiber
 *	ENOSPC		too many fibers or keys
 *	EOPNOTSUPP	threads of this process have registers of different size
 *	EINVAL, EFAULT	bad arguments, or a stack that cannot be written to
 *	ENOMEM		not enough memory
 *
 * Fibers belong to a process: all its threads share them, even if it opens the
 * device several times. They end when its last open file is closed.
 */
#ifndef FIBERS_H
#define FIBERS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FIBERS_DEVICE "/dev/fibers"

/* Limits for each process. */
#define FIBERS_MOST 16384
#define FIBERS_KEYS 1024

/**
 * struct fibers_create - stack and entry function of a new fiber
 * @stack: the lowest address of its stack
 * @size: bytes of the stack, at least 128
 * @entry: the function that it runs; when it returns, the process ends by
 *	SIGSEGV, because there is no return address
 * @argument: the function's argument
 */
struct fibers_create {
	__u64 stack;
	__u64 size;
	__u64 entry;
	__u64 argument;
};

/**
 * struct fibers_local - a fiber-local value of the calling fiber
 * @key: a key from FIBERS_LOCAL_ALLOC
 * @value: the value to store, or the stored value; 0 until it is set
 */
struct fibers_local {
	__u64 key;
	__u64 value;
};

/**
 * FIBERS_CONVERT - make the calling thread a fiber, the thread's first one
 *
 * Only this thread can ever run the fiber, because its stack is the thread's.
 *
 * Return: the fiber's id, 1 or more.
 */
#define FIBERS_CONVERT _IO('F', 1)

/**
 * FIBERS_CREATE - make a fiber, which waits until a thread switches to it
 *
 * Its floating-point registers are copied from the caller.
 *
 * Return: the fiber's id.
 */
#define FIBERS_CREATE _IOW('F', 2, struct fibers_create)

/**
 * FIBERS_SWITCH - leave this fiber, continue the one whose id is the argument
 *
 * General and floating-point registers belong to the fiber; TLS, errno and the
 * signal mask stay with the thread. Only one thread at a time can run a fiber.
 *
 * Return: 0, when a thread switches back to this fiber.
 */
#define FIBERS_SWITCH _IO('F', 3)

/**
 * FIBERS_DELETE - delete a waiting fiber; the caller must free its stack
 */
#define FIBERS_DELETE _IO('F', 4)

/**
 * FIBERS_LOCAL_ALLOC - allocate a key, which is valid in all fibers
 *
 * Return: the key, from 0 to FIBERS_KEYS - 1; its value is 0 in every fiber.
 */
#define FIBERS_LOCAL_ALLOC _IO('F', 5)

/** FIBERS_LOCAL_FREE - free the key that is the argument */
#define FIBERS_LOCAL_FREE _IO('F', 6)

/** FIBERS_LOCAL_GET - return the calling fiber's value of a key */
#define FIBERS_LOCAL_GET _IOWR('F', 7, struct fibers_local)

/** FIBERS_LOCAL_SET - store a value under a key, in the calling fiber */
#define FIBERS_LOCAL_SET _IOW('F', 8, struct fibers_local)

#endif
