// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Sections that use vector registers, in a program: the kernel takes care of the
 * registers there. What is checked is that sections begin and end in turn.
 */
#include <stdlib.h>

#include "host.h"
#include "vector.h"

static __thread bool within;

/* FIB_NO_AVX2 in the environment: as on a processor without it. */
bool fib_has_avx2(void)
{
	return __builtin_cpu_supports("avx2") &&
	       __builtin_cpu_supports("fma") && !getenv("FIB_NO_AVX2");
}

void fib_fpu_begin(void)
{
	assert(!within);
	within = true;
}

void fib_fpu_end(void)
{
	assert(within);
	within = false;
}
