// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The benchmark without a kernel. */
#include "userspace.h"

#include "bench.h"
