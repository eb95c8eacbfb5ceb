/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Included before fiber.c. On x86, a release and a barrier between stores are
 * no instructions, because the processor keeps the order of stores. Here they
 * are full barriers, which variants/interleaved.c can see. The store itself is
 * not atomic, because QEMU before 8.0 reports no breakpoint for an atomic
 * operation.
 */
#include <linux/atomic.h>

#undef smp_store_release
#define smp_store_release(place, value)        \
	do {                                   \
		smp_mb();                      \
		WRITE_ONCE(*(place), (value)); \
	} while (0)
#undef smp_wmb
#define smp_wmb() smp_mb()
