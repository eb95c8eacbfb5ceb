// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Write a stage's failed assertions and traces to the kernel log.
 */
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/stdarg.h>

#include "account.h"

void fib_assert_failed(const char *file, int line)
{
	pr_warn("------------[ cut here ]------------\n");
	pr_warn("WARNING: CPU: %d PID: %d at %s:%d %pS\n",
		raw_smp_processor_id(), current->pid, file, line,
		__builtin_return_address(0));
	dump_stack();
}

void fib_trace_print(const char *format, ...)
{
	struct va_format line = { .fmt = format };
	va_list args;

	va_start(args, format);
	line.va = &args;
	pr_info(KBUILD_MODNAME ": %pV\n", &line);
	va_end(args);
}
