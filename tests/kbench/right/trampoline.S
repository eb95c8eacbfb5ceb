/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * A right solution in Intel syntax, with comments that contain dots. It saves
 * the flags and the control words, too.
 */

	.intel_syntax noprefix
	.globl	kbench_on_stack, kbench_leave
	.type	kbench_on_stack, @function
kbench_on_stack:
	pushfq
	sub	rsp, 56	# six registers ... and two .control words
	mov	[rsp], rbp
	mov	[rsp + 8], rbx
	mov	[rsp + 16], r12
	mov	[rsp + 24], r13
	mov	[rsp + 32], r14
	mov	[rsp + 40], r15
	stmxcsr	dword ptr [rsp + 48]
	fnstcw	word ptr [rsp + 52]
	mov	[rip + back], rsp
	test	rdi, rdi	# don't leave the kernel's stack ... or use another one
	cmovz	rdi, rsp
	and	rdi, -16
	mov	rsp, rdi
	call	kbench_begin
	mov	edi, eax
kbench_leave:
	mov	eax, edi
	mov	rsp, [rip + back]
	mov	rbp, [rsp]
	mov	rbx, [rsp + 8]
	mov	r12, [rsp + 16]
	mov	r13, [rsp + 24]
	mov	r14, [rsp + 32]
	mov	r15, [rsp + 40]
	ldmxcsr	dword ptr [rsp + 48]
	fldcw	word ptr [rsp + 52]
	add	rsp, 56
	popfq
	ret
	.att_syntax
	.size	kbench_on_stack, . - kbench_on_stack

	.lcomm back, 8
	.section .note.GNU-stack, "", @progbits
