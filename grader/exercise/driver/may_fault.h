/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * This header is included before the driver. All kernel functions that access
 * user memory, except those for atomic context, call might_fault(), which is
 * empty in most kernels.
 */
#ifndef MAY_FAULT_H
#define MAY_FAULT_H

#include <linux/kernel.h>

void first_may_fault(void);

#if !defined(CONFIG_PROVE_LOCKING) && !defined(CONFIG_DEBUG_ATOMIC_SLEEP)
#undef might_fault
#define might_fault() first_may_fault()
#endif

#endif
