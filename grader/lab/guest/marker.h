/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Marker instructions: "nopl imm32(%rax)", which do nothing, and which the
 * plugin that counts instructions takes note of: see ../plugin/count.c. The
 * byte at MARKER_NUMBER tells them apart: 0 to 9 speak a decimal digit, the
 * others are events.
 */
#ifndef LAB_MARKER_H
#define LAB_MARKER_H

#define MARKER_BYTES 0x0f, 0x1f, 0x80, 0x00, 0x6c, 0x61, 0x62
#define MARKER_NUMBER 3

#ifdef __ASSEMBLER__
/* One in assembly. */
#define MARKER(number) .byte 0x0f, 0x1f, 0x80, number, 0x6c, 0x61, 0x62
#else
/* One in C, as a statement; @number is a constant. */
#define MARK(number)                                                     \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80, %c0, 0x6c, 0x61, 0x62" \
			 :                                               \
			 : "i"(number)                                   \
			 : "memory")
#endif

/* grader/lab/plugin.py has the same numbers. */
#define MARKER_READY 15
#define MARKER_BEGIN 16
#define MARKER_RETURNED 17
#define MARKER_END 18

#endif
