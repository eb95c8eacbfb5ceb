/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <linux/types.h>

u64 numbers_sum(const u32 *numbers, unsigned int count);
u32 numbers_max(const u32 *numbers, unsigned int count);

#endif
