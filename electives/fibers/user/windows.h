/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The fiber functions of Windows, on top of fibers_lib.h or userspace.h,
 * whichever was included before. As in Windows, a fiber is a pointer; NULL or
 * false is an error.
 */
#ifndef FIBERS_WINDOWS_H
#define FIBERS_WINDOWS_H

#include <stdbool.h>
#include <sys/mman.h>

/*
 * The object that a fiber's pointer refers to, at the low end of its own stack.
 */
struct windows_fiber {
	long id;
	size_t size; /* 0 for a thread's first fiber: it has no own stack */
};

#define FLS_OUT_OF_INDEXES 0xffffffffUL

static inline void *windows_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static inline void *ConvertThreadToFiber(void *unused)
{
	struct windows_fiber *fiber = windows_memory(sizeof(*fiber));

	(void)unused;
	if (!fiber)
		return NULL;
	fiber->id = fiber_convert();
	if (fiber->id > 0)
		return fiber;
	munmap(fiber, sizeof(*fiber));
	return NULL;
}

static inline void *CreateFiber(size_t size, void (*entry)(void *),
				void *argument)
{
	struct windows_fiber *fiber;

	size = size ? size : 64 << 10;
	fiber = windows_memory(size);
	if (!fiber)
		return NULL;
	fiber->size = size;
	fiber->id =
		fiber_create(fiber + 1, size - sizeof(*fiber), entry, argument);
	if (fiber->id > 0)
		return fiber;
	munmap(fiber, size);
	return NULL;
}

static inline void SwitchToFiber(void *fiber)
{
	fiber_switch(((struct windows_fiber *)fiber)->id);
}

static inline void DeleteFiber(void *fiber)
{
	struct windows_fiber *gone = fiber;

	if (gone->size && !fiber_delete(gone->id))
		munmap(gone, gone->size);
}

/* Callbacks at the end of a fiber are not supported: @unused must be NULL. */
static inline unsigned long FlsAlloc(const void *unused)
{
	long key = unused ? -1 : fiber_local_alloc();

	return key < 0 ? FLS_OUT_OF_INDEXES : (unsigned long)key;
}

static inline bool FlsFree(unsigned long key)
{
	return !fiber_local_free((long)key);
}

static inline void *FlsGetValue(unsigned long key)
{
	uint64_t value = 0;

	return fiber_local_get((long)key, &value) ? NULL :
						    (void *)(uintptr_t)value;
}

static inline bool FlsSetValue(unsigned long key, void *value)
{
	return !fiber_local_set((long)key, (uintptr_t)value);
}

#endif
