// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The benchmark without a kernel module. */
#include "userspace.h"

#include "bench.h"
