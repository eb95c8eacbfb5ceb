// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The benchmark on /dev/fibers. */
#include "fibers_lib.h"

#include "bench.h"
