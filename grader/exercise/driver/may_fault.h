/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Make the driver's accesses to user memory call interposer.c; included before
 * the driver. All kernel functions that access user memory, except functions
 * for atomic context, call might_fault(), which is empty in most kernels. Where
 * the kernel inlines these functions, they also report the kernel memory to
 * KCSAN.
 */
#ifndef MAY_FAULT_H
#define MAY_FAULT_H

#include <linux/kcsan-checks.h>

void first_may_fault(void);
void first_copies(const volatile void *address, size_t size, bool write);

#undef kcsan_check_read
#undef kcsan_check_write
#define kcsan_check_read(address, size) first_copies(address, size, false)
#define kcsan_check_write(address, size) first_copies(address, size, true)

#include <linux/kernel.h>

#if !defined(CONFIG_PROVE_LOCKING) && !defined(CONFIG_DEBUG_ATOMIC_SLEEP)
#undef might_fault
#define might_fault() first_may_fault()
#endif

#endif
