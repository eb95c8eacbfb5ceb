/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Marker instructions: "nopl imm32(%rax)". They do nothing, but the plugin that
 * counts instructions records them: see ../plugin/count.c. The byte at offset
 * MARKER_NUMBER is the number of the marker: 0 to 9 mean a decimal digit, and
 * the other numbers are events.
 */
#ifndef LAB_MARKER_H
#define LAB_MARKER_H

#define MARKER_BYTES 0x0f, 0x1f, 0x80, 0x00, 0x6c, 0x61, 0x62
#define MARKER_NUMBER 3

#ifdef __ASSEMBLER__
/* A marker in assembly. */
#define MARKER(number) .byte 0x0f, 0x1f, 0x80, number, 0x6c, 0x61, 0x62
#else
/* A marker as a C statement; @number must be a constant. */
#define MARK(number)                                                     \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80, %c0, 0x6c, 0x61, 0x62" \
			 :                                               \
			 : "i"(number)                                   \
			 : "memory")
#endif

/* These numbers must agree with grader/lab/plugin.py. */
#define MARKER_READY 15
#define MARKER_BEGIN 16
#define MARKER_RETURNED 17
#define MARKER_END 18

#endif
