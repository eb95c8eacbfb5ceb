/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * long spoken_pread(int fd, char *buffer, size_t size, uint64_t n)
 *
 * Execute a pread() between two marker instructions, and then a marker for each
 * digit that was read, up to the first byte that is not a digit: see marker.h.
 * This is in assembly, so that the number of instructions does not depend on
 * the compiler; grader/measure/instructions.py knows this number.
 *
 * Return: the return value of the system call.
 */
#include <sys/syscall.h>

#include "marker.h"

	.text
	.globl spoken_pread
	.type spoken_pread, @function
spoken_pread:
#ifdef __x86_64__
	mov %rcx, %r10
	mov $SYS_pread64, %eax
	MARKER(MARKER_READY)
	MARKER(MARKER_BEGIN)
	syscall
	MARKER(MARKER_RETURNED)
	test %rax, %rax
	jle 3f
	lea (%rsi,%rax), %r8
	lea digits(%rip), %r9
1:	movzbl (%rsi), %ecx
	sub $'0', %ecx
	cmp $9, %ecx
	ja 3f
	shl $4, %ecx
	add %r9, %rcx
	jmp *%rcx
	/* The code for each digit has 16 bytes. */
	.balign 16
digits:
	.irp digit, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	MARKER(\digit)
	jmp 2f
	.balign 16
	.endr
2:	inc %rsi
	cmp %r8, %rsi
	jne 1b
3:	MARKER(MARKER_END)
	ret
#else
	.error "the emulated machine is x86-64"
#endif
	.size spoken_pread, . - spoken_pread
	.section .note.GNU-stack, "", @progbits
