// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Sections that use vector registers, see vector.h. It is linked into the module
 * of a stage that has vector files, and into no other.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

#include "vector.h"

bool fib_has_avx2(void)
{
	/* A kernel that does not save AVX registers has cleared these, too. */
	return boot_cpu_has(X86_FEATURE_XSAVE) &&
	       boot_cpu_has(X86_FEATURE_AVX2) && boot_cpu_has(X86_FEATURE_FMA);
}

void fib_fpu_begin(void)
{
	kernel_fpu_begin();
}

void fib_fpu_end(void)
{
	kernel_fpu_end();
}
