/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * All registers that a switch must preserve, filled before the switch
 * and read after it. rax, rdi, rsi and rdx carry the system call's arguments;
 * the system call overwrites rcx and r11.
 */
#ifndef FIBERS_IMAGE_H
#define FIBERS_IMAGE_H

#include <string.h>

#include "test_program.h"

struct image {
	uint64_t general[9]; /* rbx rbp r8 r9 r10 r12 r13 r14 r15 */
	uint64_t vector[16][4]; /* ymm registers; only xmm without AVX */
	double x87;
	uint32_t mxcsr;
	uint16_t control;
	uint16_t wide;
	double st[7]; /* the x87 registers from st(1) on */
};

/*
 * Load @in, switch to @id and store @out. Return the result of the switch, or 1
 * if a register with an argument of the call has changed.
 */
long image_switch(const struct image *in, struct image *out, long file,
		  long id);

#define EACH(what)                                                           \
	what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7)      \
		what(8) what(9) what(10) what(11) what(12) what(13) what(14) \
			what(15)
#define TEXT(x) #x
#define LOAD_ST                              \
	"	fldl	648(%rdi)\n	fldl	640(%rdi)\n" \
	"	fldl	632(%rdi)\n	fldl	624(%rdi)\n" \
	"	fldl	616(%rdi)\n	fldl	608(%rdi)\n" \
	"	fldl	600(%rdi)\n"
#define STORE_ST                               \
	"	fstpl	600(%r11)\n	fstpl	608(%r11)\n" \
	"	fstpl	616(%r11)\n	fstpl	624(%r11)\n" \
	"	fstpl	632(%r11)\n	fstpl	640(%r11)\n" \
	"	fstpl	648(%r11)\n"
#define LOAD16(i) "	movdqu	72+32*" TEXT(i) "(%rdi), %xmm" TEXT(i) "\n"
#define LOAD32(i) "	vmovdqu	72+32*" TEXT(i) "(%rdi), %ymm" TEXT(i) "\n"
#define STORE16(i) "	movdqu	%xmm" TEXT(i) ", 72+32*" TEXT(i) "(%r11)\n"
#define STORE32(i) "	vmovdqu	%ymm" TEXT(i) ", 72+32*" TEXT(i) "(%r11)\n"

__asm__("	.text\n"
	"image_switch:\n"
	"	push	%rbp\n	push	%rbx\n	push	%r12\n"
	"	push	%r13\n	push	%r14\n	push	%r15\n"
	"	push	%rdx\n	push	%rcx\n	push	%rsi\n"
	"	fninit\n" LOAD_ST
	"	fldl	584(%rdi)\n	fldcw	596(%rdi)\n"
	"	ldmxcsr	592(%rdi)\n"
	"	cmpw	$0, 598(%rdi)\n	jne	1f\n" EACH(
		LOAD16) "	jmp	2f\n"
			"1:\n" EACH(
				LOAD32) "2:	mov	0(%rdi), %rbx\n	mov	8(%rdi), %rbp\n"
					"	mov	16(%rdi), %r8\n	mov	24(%rdi), %r9\n"
					"	mov	32(%rdi), %r10\n	mov	40(%rdi), %r12\n"
					"	mov	48(%rdi), %r13\n	mov	56(%rdi), %r14\n"
					"	mov	64(%rdi), %r15\n"
					"	mov	16(%rsp), %rdi\n	mov	8(%rsp), %rdx\n"
					"	mov	$0x4603, %esi\n	mov	$16, %eax\n"
					"	syscall\n"
					"	cmp	16(%rsp), %rdi\n	jne	5f\n"
					"	cmp	8(%rsp), %rdx\n	jne	5f\n"
					"	cmp	$0x4603, %rsi\n	je	6f\n"
					"5:	mov	$1, %eax\n"
					"6:	mov	0(%rsp), %r11\n"
					"	mov	%rbx, 0(%r11)\n	mov	%rbp, 8(%r11)\n"
					"	mov	%r8, 16(%r11)\n	mov	%r9, 24(%r11)\n"
					"	mov	%r10, 32(%r11)\n	mov	%r12, 40(%r11)\n"
					"	mov	%r13, 48(%r11)\n	mov	%r14, 56(%r11)\n"
					"	mov	%r15, 64(%r11)\n"
					"	cmpw	$0, 598(%r11)\n	jne	3f\n" EACH(
						STORE16) "	jmp	4f\n"
							 "3:\n" EACH(
								 STORE32) "	vzeroupper\n"
									  "4:	fnstcw	596(%r11)\n	stmxcsr	592(%r11)\n"
									  "	fstpl	584(%r11)\n" STORE_ST
									  "	fninit\n"
									  "	movl	$0x1f80, 4(%rsp)\n	ldmxcsr	4(%rsp)\n"
									  "	add	$24, %rsp\n"
									  "	pop	%r15\n	pop	%r14\n	pop	%r13\n"
									  "	pop	%r12\n	pop	%rbx\n	pop	%rbp\n"
									  "	ret\n");

_Static_assert(FIBERS_SWITCH == 0x4603, "as in image_switch");
_Static_assert(offsetof(struct image, x87) == 584, "as in image_switch");
_Static_assert(offsetof(struct image, st) == 600, "as in image_switch");

/* Fill a fiber's registers for its n-th round, each with a different value. */
static inline void image_fill(struct image *image, unsigned long fiber,
			      unsigned long n)
{
	uint64_t seed = fiber << 40 | n << 8;

	for (unsigned int i = 0; i < 9; i++)
		image->general[i] = seed + i;
	for (unsigned int i = 0; i < 64; i++)
		image->vector[i / 4][i % 4] = seed * 3 + i;
	image->wide = __builtin_cpu_supports("avx") ? 1 : 0;
	if (!image->wide)
		for (unsigned int i = 0; i < 16; i++)
			image->vector[i][2] = image->vector[i][3] = 0;
	image->x87 = (double)(seed % 1000003);
	for (unsigned int i = 0; i < 7; i++)
		image->st[i] = image->x87 + i + 1;
	/* Use one of the four rounding modes, with all exceptions masked. */
	image->mxcsr = 0x1f80 | (uint32_t)(n + fiber) % 4 << 13;
	image->control = (uint16_t)(0x37f | (n + fiber) % 4 << 10);
}

/* Fail with the name of the first register whose value has changed. */
static inline void image_same(const struct image *is, const struct image *was)
{
	for (unsigned int i = 0; i < 9; i++)
		if (is->general[i] != was->general[i]) {
			printf("general register %u is %#lx, was %#lx\n", i,
			       is->general[i], was->general[i]);
			_exit(1);
		}
	for (unsigned int i = 0; i < 64; i++)
		if (is->vector[i / 4][i % 4] != was->vector[i / 4][i % 4]) {
			printf("%s register %u is %#lx, was %#lx\n",
			       i % 4 > 1 ? "wide (ymm)" : "vector (xmm)", i / 4,
			       is->vector[i / 4][i % 4],
			       was->vector[i / 4][i % 4]);
			_exit(1);
		}
	for (unsigned int i = 0; i < 7; i++)
		if (is->st[i] != was->st[i]) {
			printf("x87 register %u is %g, was %g\n", i + 1,
			       is->st[i], was->st[i]);
			_exit(1);
		}
	if (is->x87 != was->x87 || is->control != was->control ||
	    (is->mxcsr ^ was->mxcsr) >> 6) {
		printf("x87 %g, %#x, mxcsr %#x: were %g, %#x, %#x\n", is->x87,
		       is->control, is->mxcsr, was->x87, was->control,
		       was->mxcsr);
		_exit(1);
	}
}

/* Run one round of a fiber. End the program if a register is not preserved. */
static inline long image_round(unsigned long fiber, unsigned long n, long id)
{
	struct image before, behind;
	long said;

	memset(&before, 0, sizeof(before));
	image_fill(&before, fiber, n);
	behind = before;
#ifdef FIBERS_USERSPACE
	said = fiber_switch(id); /* a call need not preserve all registers */
#else
	said = image_switch(&before, &behind, fibers_file, id);
	if (said == 1) {
		printf("rdi, rsi or rdx is not as the fiber has left it\n");
		_exit(1);
	}
#endif
	image_same(&behind, &before);
	return said;
}

#endif
