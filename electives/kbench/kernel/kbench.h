/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What the parts of the module share. While the program runs, the stack is
 * none that the kernel knows: nothing here may use "current", sleep, or ask
 * the kernel for memory. So all memory is there before it begins.
 */
#ifndef KBENCH_H
#define KBENCH_H

#include <linux/sizes.h>
#include <linux/types.h>

#define OUTPUT_BYTES SZ_1M
#define INPUT_BYTES SZ_4M
#define HEAP_BYTES SZ_32M
#define STACK_BYTES SZ_8M

/* trampoline.S: calls kbench_begin on another stack; returns what it returns,
 * or what kbench_leave is given, from however deep.
 */
int kbench_on_stack(void *top);
void __noreturn kbench_leave(int status);
int kbench_begin(void);

/* Ends the program as a signal or an error would; why is one line. */
void __noreturn __printf(2, 3) kbench_give_up(int status, const char *why, ...);

/* The program's own main, under another name. */
int kbench_main(int argc, char **argv);

extern char *kbench_output;
extern size_t kbench_output_size;
extern char *kbench_input;
extern size_t kbench_input_size;
extern char *kbench_heap;

/* heap.c: what has not been given back. */
void kbench_heap_left(size_t *blocks, size_t *bytes);

/* The counter of cycles, with all before it done. */
u64 kbench_cycles(void);

#endif
