/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Declarations that the parts of the module share. While the program runs, it
 * uses a stack that the kernel does not know: the code here must not use
 * "current", sleep, or allocate kernel memory. All memory is therefore
 * allocated before the program begins.
 */
#ifndef KBENCH_H
#define KBENCH_H

#include <linux/sizes.h>
#include <linux/types.h>

#define OUTPUT_BYTES SZ_1M
#define INPUT_BYTES SZ_4M
#define HEAP_BYTES SZ_32M
#define STACK_BYTES SZ_8M

/*
 * trampoline.S: kbench_on_stack calls kbench_begin on another stack. It returns
 * the result of kbench_begin, or the status that is passed to kbench_leave at
 * any call depth.
 */
int kbench_on_stack(void *top);
void __noreturn kbench_leave(int status);
int kbench_begin(void);

/* End the program as a signal or an error would. @why is a one-line reason. */
void __noreturn __printf(2, 3) kbench_give_up(int status, const char *why, ...);

/* The program's main() function, renamed. */
int kbench_main(int argc, char **argv);

extern char *kbench_output;
extern size_t kbench_output_size;
extern char *kbench_input;
extern size_t kbench_input_size;
extern char *kbench_heap;

/* heap.c: return the number and size of the blocks that are not freed. */
void kbench_heap_left(size_t *blocks, size_t *bytes);

/* Return the cycle counter after all earlier instructions have finished. */
u64 kbench_cycles(void);

#endif
