// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Define the symbols by which fibcontract and a stage are linked. fibcontract
 * is built as a module without a stage, and a stage's objects are added later.
 */
#include "contract_tests.h"

/* Weak definitions, which the stage's objects replace when they are linked. */
int __weak fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	return -ENODEV;
}

ssize_t __weak fib_decimal(struct fib_call *call, const union fib_value *f,
			   char *digits, size_t size)
{
	return -ENODEV;
}

size_t __weak fib_limbs(const union fib_value *f)
{
	return 0;
}

void __weak fib_release(union fib_value *f)
{
}

/*
 * Refer to the kernel functions that a stage may use. Some kernels check the
 * versions of symbols, and the loader knows the versions only of symbols that
 * this module itself uses.
 */
/* clang-format off */
#define OFFERED(name) ".weak " #name "\n\t.quad " #name "\n\t"
#define THUNK(reg) OFFERED(__x86_indirect_thunk_##reg)
asm(".pushsection .rodata\n\t"
    OFFERED(memcpy) OFFERED(memmove) OFFERED(memset) OFFERED(memcmp)
    OFFERED(__stack_chk_fail) OFFERED(fortify_panic) OFFERED(__cond_resched)
    THUNK(rax) THUNK(rbx) THUNK(rcx) THUNK(rdx) THUNK(rsi) THUNK(rdi)
    THUNK(rbp) THUNK(r8) THUNK(r9) THUNK(r10) THUNK(r11) THUNK(r12)
    THUNK(r13) THUNK(r14) THUNK(r15)
    ".popsection");
/* clang-format on */
