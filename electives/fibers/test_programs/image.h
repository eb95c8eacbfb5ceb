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

/* The memory of fxsave: x87 and mxcsr, and also the xmm registers, which are not compared here. */
struct x87 {
	uint16_t control, status;
	uint8_t used, reserved; /* used: a bit for each register from 0 to 7 */
	uint16_t opcode;
	uint64_t ip, data;
	uint32_t mxcsr, mask;
	struct {
		uint64_t fraction;
		uint16_t exponent, unused[3];
	} st[8]; /* register i is st[i - top] */
	uint64_t others[44];
};

struct image {
	uint64_t general[9]; /* rbx rbp r8 r9 r10 r12 r13 r14 r15 */
	uint64_t vector[16][4]; /* ymm registers; only xmm without AVX */
	uint64_t wide;
	struct x87 x87 __attribute__((aligned(16)));
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
#define LOAD16(i) "	movdqu	72+32*" TEXT(i) "(%rdi), %xmm" TEXT(i) "\n"
#define LOAD32(i) "	vmovdqu	72+32*" TEXT(i) "(%rdi), %ymm" TEXT(i) "\n"
#define STORE16(i) "	movdqu	%xmm" TEXT(i) ", 72+32*" TEXT(i) "(%r11)\n"
#define STORE32(i) "	vmovdqu	%ymm" TEXT(i) ", 72+32*" TEXT(i) "(%r11)\n"

__asm__("	.text\n"
	"image_switch:\n"
	"	push	%rbp\n	push	%rbx\n	push	%r12\n"
	"	push	%r13\n	push	%r14\n	push	%r15\n"
	"	push	%rdx\n	push	%rcx\n	push	%rsi\n"
	"	fxrstor64	592(%rdi)\n"
	"	cmpq	$0, 584(%rdi)\n	jne	1f\n" EACH(
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
					"	cmpq	$0, 584(%r11)\n	jne	3f\n" EACH(
						STORE16) "	jmp	4f\n"
							 "3:\n" EACH(
								 STORE32) "	vzeroupper\n"
									  "4:	fxsave64	592(%r11)\n"
									  "	fninit\n"
									  "	movl	$0x1f80, 4(%rsp)\n	ldmxcsr	4(%rsp)\n"
									  "	add	$24, %rsp\n"
									  "	pop	%r15\n	pop	%r14\n	pop	%r13\n"
									  "	pop	%r12\n	pop	%rbx\n	pop	%rbp\n"
									  "	ret\n");

_Static_assert(FIBERS_SWITCH == 0x4603, "as in image_switch");
_Static_assert(offsetof(struct image, wide) == 584, "as in image_switch");
_Static_assert(offsetof(struct image, x87) == 592, "as in image_switch");
_Static_assert(sizeof(struct x87) == 512, "as fxsave stores it");

/* Return the next number of a sequence (splitmix64). */
static inline uint64_t image_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* The bits of the x87 status that no exception changes: flags of exceptions, conditions, top. */
#define STATUS 0x7f7fu
/* All exceptions are masked, otherwise the next instruction would cause them. */
#define CONTROL 0x7fu
#define MASKED 0x1f80u
/* The flags of exceptions, denormals are zeros, the rounding mode, flush to zero. */
#define MXCSR 0xe07fu

/* Fill a fiber's registers for its n-th round, each with a different value. */
static inline void image_fill(struct image *image, unsigned long fiber,
			      unsigned long n)
{
	static const uint16_t precision[] = { 0, 0x200, 0x300 };
	uint64_t state = fiber << 32 ^ n;
	struct x87 *x87 = &image->x87;

	for (unsigned int i = 0; i < 9; i++)
		image->general[i] = image_random(&state);
	for (unsigned int i = 0; i < 64; i++)
		image->vector[i / 4][i % 4] = image_random(&state);
	image->wide = __builtin_cpu_supports("avx") ? 1 : 0;
	if (!image->wide)
		for (unsigned int i = 0; i < 16; i++)
			image->vector[i][2] = image->vector[i][3] = 0;
	for (unsigned int i = 0; i < 8; i++) {
		/* A normal number: the highest bit of its fraction is set. */
		x87->st[i].fraction = image_random(&state) | 1ul << 63;
		x87->st[i].exponent =
			(uint16_t)(image_random(&state) & 0xbfff) | 1;
	}
	/* In every second round all registers are in use. */
	x87->used = n % 2 ? (uint8_t)image_random(&state) : 0xff;
	x87->status = (uint16_t)image_random(&state) & STATUS;
	x87->control = CONTROL | precision[image_random(&state) % 3] |
		       (uint16_t)((n + fiber) % 4 << 10);
	x87->mxcsr = MASKED | ((uint32_t)image_random(&state) & MXCSR);
}

static inline __attribute__((noreturn)) void
image_differs(const char *name, unsigned int i, uint64_t is, uint64_t was)
{
	printf("%s register %u is %#lx, was %#lx\n", name, i, is, was);
	_exit(1);
}

static inline void image_same_x87(const struct x87 *is, const struct x87 *was)
{
	unsigned int top = was->status >> 11 & 7;

	if (is->control != was->control || is->status != was->status ||
	    is->used != was->used || is->mxcsr != was->mxcsr) {
		printf("x87 control %#x, status %#x, registers in use %#x, mxcsr %#x: were %#x, %#x, %#x, %#x\n",
		       is->control, is->status, is->used, is->mxcsr,
		       was->control, was->status, was->used, was->mxcsr);
		_exit(1);
	}
	for (unsigned int i = 0; i < 8; i++) {
		if (!(was->used >> (top + i) % 8 & 1))
			continue;
		if (is->st[i].fraction != was->st[i].fraction)
			image_differs("x87", i, is->st[i].fraction,
				      was->st[i].fraction);
		if (is->st[i].exponent != was->st[i].exponent)
			image_differs("exponent of x87", i, is->st[i].exponent,
				      was->st[i].exponent);
	}
}

/* Fail with the name of the first register whose value has changed. */
static inline void image_same(const struct image *is, const struct image *was)
{
	for (unsigned int i = 0; i < 9; i++)
		if (is->general[i] != was->general[i])
			image_differs("general", i, is->general[i],
				      was->general[i]);
	for (unsigned int i = 0; i < 64; i++)
		if (is->vector[i / 4][i % 4] != was->vector[i / 4][i % 4])
			image_differs(i % 4 > 1 ? "wide (ymm)" : "vector (xmm)",
				      i / 4, is->vector[i / 4][i % 4],
				      was->vector[i / 4][i % 4]);
	image_same_x87(&is->x87, &was->x87);
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
