/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * long spoken_pread(int fd, char *buffer, size_t size, uint64_t n)
 *
 * A pread() between marker instructions, then a marker for each digit that it
 * has read, up to the first byte that is none: see marker.h. In assembly, so
 * that it takes the same number of instructions whatever the compiler:
 * grader/measure/instructions.py knows how many.
 *
 * Return: what the system call returned.
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
	/* 16 bytes for each digit. */
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
