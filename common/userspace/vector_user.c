// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The user-space version of vector.c. In a program, the kernel saves the vector
 * registers, so only check that each section ends before the next one begins.
 */
#include <stdlib.h>

#include "host.h"
#include "vector.h"

static __thread bool within;

/* With FIB_NO_AVX2 in the environment, behave like a processor without AVX2. */
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
