/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The module's fibers for programs. userspace.h has the same functions without
 * a kernel module.
 *
 * Every function returns the kernel's result: the requested value, or a
 * negative error number. No function changes errno, because errno belongs to
 * the thread, and the thread may be another one after a switch.
 */
#ifndef FIBERS_LIB_H
#define FIBERS_LIB_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fibers.h"

static int fibers_file = -1;

/*
 * Do not use syscall() of the C library, because it would store an error in
 * errno.
 */
static inline long fibers_ask(unsigned int command, unsigned long argument)
{
	long done;

	__asm__ volatile("syscall"
			 : "=a"(done)
			 : "a"(SYS_ioctl), "D"(fibers_file), "S"(command),
			   "d"(argument)
			 : "rcx", "r11", "memory");
	return done;
}

/* Call this first, once in a process. Returns 0, or -1 with errno set. */
static inline int fibers_begin(void)
{
	fibers_file = open(FIBERS_DEVICE, O_RDWR | O_CLOEXEC);
	return fibers_file < 0 ? -1 : 0;
}

static inline long fiber_convert(void)
{
	return fibers_ask(FIBERS_CONVERT, 0);
}

static inline long fiber_create(void *stack, size_t size, void (*entry)(void *),
				void *argument)
{
	struct fibers_create wanted = {
		.stack = (uintptr_t)stack,
		.size = size,
		.entry = (uintptr_t)entry,
		.argument = (uintptr_t)argument,
	};

	return fibers_ask(FIBERS_CREATE, (unsigned long)&wanted);
}

static inline long fiber_switch(long id)
{
	return fibers_ask(FIBERS_SWITCH, (unsigned long)id);
}

static inline long fiber_delete(long id)
{
	return fibers_ask(FIBERS_DELETE, (unsigned long)id);
}

static inline long fiber_local_alloc(void)
{
	return fibers_ask(FIBERS_LOCAL_ALLOC, 0);
}

static inline long fiber_local_free(long key)
{
	return fibers_ask(FIBERS_LOCAL_FREE, (unsigned long)key);
}

static inline long fiber_local_get(long key, uint64_t *value)
{
	struct fibers_local local = { .key = (uint64_t)key };
	long done = fibers_ask(FIBERS_LOCAL_GET, (unsigned long)&local);

	*value = local.value;
	return done;
}

static inline long fiber_local_set(long key, uint64_t value)
{
	struct fibers_local local = { .key = (uint64_t)key, .value = value };

	return fibers_ask(FIBERS_LOCAL_SET, (unsigned long)&local);
}

#endif
