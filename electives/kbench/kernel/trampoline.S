/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Switch to another stack and back. The kernel's own stack has 16 KB, which a
 * program's recursion fills at once.
 *
 * kbench_on_stack(top) saves the registers that a function must preserve,
 * stores the stack pointer in kbench_back, and calls kbench_begin on the stack
 * that ends at top. If top is 0, it stays on the kernel's stack.
 * kbench_leave(status) restores the stored stack pointer, so it returns from
 * kbench_on_stack at any depth of calls. So exit() can be implemented by
 * kbench_leave.
 */
	.text
	.globl	kbench_on_stack
	.type	kbench_on_stack, @function
kbench_on_stack:
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, kbench_back(%rip)
	/* task 1 { */
	testq	%rdi, %rdi
	jz	1f
	movq	%rdi, %rsp
1:	andq	$-16, %rsp
	/* } task 1 */
	xorl	%ebp, %ebp
	call	kbench_begin
	movl	%eax, %edi
	/* The program has returned: leave as if it had called exit. */
	.globl	kbench_leave
	.type	kbench_leave, @function
kbench_leave:
	movl	%edi, %eax
	movq	kbench_back(%rip), %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	ret
	.size	kbench_leave, . - kbench_leave
	.size	kbench_on_stack, . - kbench_on_stack

	.bss
	.balign	8
kbench_back:
	.quad	0

	.section .note.GNU-stack, "", @progbits
