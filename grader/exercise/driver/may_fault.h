/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Make the driver's accesses to user memory call interposer.c; included before
 * the driver. All kernel functions that access user memory, except functions
 * for atomic context, call might_fault(), which is empty in most kernels. Where
 * the kernel inlines these functions, they also report the kernel memory to
 * KCSAN. So do the functions for atomic variables, which contain assembly.
 */
#ifndef MAY_FAULT_H
#define MAY_FAULT_H

/* With this option, the kernel inlines functions that strings.c wraps. */
#undef CONFIG_FORTIFY_SOURCE

#include <linux/kcsan-checks.h>

void first_may_fault(void);
void first_copies(const volatile void *address, size_t size, bool write);
void first_atomic(const volatile void *address, bool write);

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

/* A driver may not choose the section of a variable (allowed_c.py). */
#undef __read_mostly
#undef __ro_after_init
#define __read_mostly
#define __ro_after_init

#if !defined(CONFIG_PROVE_LOCKING) && !defined(CONFIG_DEBUG_ATOMIC_SLEEP)
#undef might_fault
#define might_fault() first_may_fault()
#endif

#endif
