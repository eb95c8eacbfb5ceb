/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Make the driver's accesses to user memory call interposer.c; included before
 * the driver. All kernel functions that access user memory, except functions
 * for atomic context, call might_fault(), which is empty in most kernels. Where
 * the kernel inlines these functions, they also report the kernel memory to
 * KCSAN. So do the functions for atomic variables, which contain assembly.
 *
 * Also report writes behind an array by functions of the kernel, which are not
 * compiled with -fsanitize=bounds,object-size. The kit's own files, which define
 * FIRST_KIT, need no such report.
 */
#ifndef MAY_FAULT_H
#define MAY_FAULT_H

/* With this option, the kernel inlines functions that strings.c wraps. */
#undef CONFIG_FORTIFY_SOURCE

#include <linux/kcsan-checks.h>

void first_may_fault(void);
void first_copies(const volatile void *address, size_t size, bool write);
void first_atomic(const volatile void *address, bool write);
/* A driver must not define a name that begins with __ubsan_. */
void __ubsan_first_overflow(size_t size, size_t room);

#undef kcsan_check_read
#undef kcsan_check_write
#define kcsan_check_read(address, size) first_copies(address, size, false)
#define kcsan_check_write(address, size) first_copies(address, size, true)

#undef kcsan_check_atomic_read
#undef kcsan_check_atomic_write
#undef kcsan_check_atomic_read_write
#define kcsan_check_atomic_read(address, size) first_atomic(address, false)
#define kcsan_check_atomic_write(address, size) first_atomic(address, true)
#define kcsan_check_atomic_read_write(address, size) first_atomic(address, true)

#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/string.h>

/* A driver may not choose the section of a variable (allowed_c.py). */
#undef __read_mostly
#undef __ro_after_init
#define __read_mostly
#define __ro_after_init

#if !defined(CONFIG_PROVE_LOCKING) && !defined(CONFIG_DEBUG_ATOMIC_SLEEP)
#undef might_fault
#define might_fault() first_may_fault()
#endif

#ifndef FIRST_KIT
/*
 * The functions below are inlined into the driver. Reports must name the line
 * of the driver, so these functions have a name of a file that is not the kit's.
 */
#line __LINE__ "may_fault.h"

#define FIRST_INLINE extern __always_inline __gnu_inline

/*
 * Report a write of @size bytes to an object with only @room bytes. If the
 * compiler does not know the object of an address, @room is SIZE_MAX.
 */
FIRST_INLINE void first_writes(size_t size, size_t room)
{
	if (size > room)
		__ubsan_first_overflow(size, room);
}

/*
 * Redefine each function as an inline function, which calls the function of the
 * kernel by a second name in C, as glibc does for _FORTIFY_SOURCE.
 */
#define FIRST_ROOM(to) __builtin_object_size(to, 0)

#define FIRST_WRITES(name, type)                                             \
	void *first_##name(void *to, type from, size_t size) __asm__(#name); \
	FIRST_INLINE void *name(void *to, type from, size_t size)            \
	{                                                                    \
		first_writes(size, FIRST_ROOM(to));                          \
		return first_##name(to, from, size);                         \
	}

FIRST_WRITES(memcpy, const void *)
FIRST_WRITES(memmove, const void *)
FIRST_WRITES(memset, int)

/* An inline function cannot pass on the arguments behind a format. */
#define FIRST_PRINTS(name, to, size, ...)                                 \
	({                                                                \
		char *first_to = (to);                                    \
		size_t first_size = (size);                               \
		int first_length = name(first_to, __VA_ARGS__);           \
                                                                          \
		first_writes(min_t(size_t, first_size, first_length + 1), \
			     FIRST_ROOM(first_to));                       \
		first_length;                                             \
	})
#define sprintf(to, ...) FIRST_PRINTS(sprintf, to, SIZE_MAX, __VA_ARGS__)
#define snprintf(to, size, ...) \
	FIRST_PRINTS(snprintf, to, size, first_size, __VA_ARGS__)
#define scnprintf(to, size, ...) \
	FIRST_PRINTS(scnprintf, to, size, first_size, __VA_ARGS__)

#endif

#endif
