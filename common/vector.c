// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Sections that use vector registers: see vector.h. This file is linked only
 * into the modules of stages that have vector files.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/sysfs.h>

#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

#include "account.h"
#include "vector.h"

bool fib_has_avx2(void)
{
	/*
	 * If the kernel does not save AVX registers, it has cleared these two
	 * features.
	 */
	return boot_cpu_has(X86_FEATURE_XSAVE) &&
	       boot_cpu_has(X86_FEATURE_AVX2) && boot_cpu_has(X86_FEATURE_FMA);
}

/* /sys/module/fibdrv/parameters/avx2: 1 if the stage may use AVX2 here. */
static int avx2_get(char *text, const struct kernel_param *unused)
{
	return sysfs_emit(text, "%d\n", fib_has_avx2());
}

static const struct kernel_param_ops avx2_ops = { .get = avx2_get };
module_param_cb(avx2, &avx2_ops, NULL, 0444);

/*
 * /sys/module/fibdrv/parameters/longest_section: in TSC cycles. The TSC is read
 * directly, because get_cycles() is 0 in user-mode Linux. No lock is needed for
 * the maximum of a CPU, because no other task runs on the CPU during a section.
 */
static DEFINE_PER_CPU(u64, section_began);
static DEFINE_PER_CPU(u64, longest_section);

static int longest_get(char *text, const struct kernel_param *unused)
{
	u64 longest = 0;
	int cpu;

	for_each_possible_cpu(cpu) longest =
		max(longest, per_cpu(longest_section, cpu));
	return sysfs_emit(text, "%llu\n", longest);
}

static const struct kernel_param_ops longest_ops = { .get = longest_get };
module_param_cb(longest_section, &longest_ops, NULL, 0444);

void fib_fpu_begin(void)
{
	kernel_fpu_begin();
	__this_cpu_write(section_began, __builtin_ia32_rdtsc());
}

void fib_fpu_end(void)
{
	u64 cycles = __builtin_ia32_rdtsc() - __this_cpu_read(section_began);

	if (cycles > __this_cpu_read(longest_section))
		__this_cpu_write(longest_section, cycles);
	kernel_fpu_end();
}
