// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Run a program inside the kernel when /proc/kbench/run is written. It can run
 * only once after each load, because its globals keep their values.
 *
 *	/proc/kbench/input	write the program's input here before the run
 *	/proc/kbench/run	a write returns when the program has ended
 *	/proc/kbench/status	exit status, measurements, blocks not freed
 *	/proc/kbench/output	the program's output
 */
#include <linux/irqflags.h>
#include <linux/kdebug.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/proc_fs.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include <asm/fpu/api.h>

#include "kbench.h"
#include "shims.h"

/*
 * Disable interrupts during the run, so that no timer tick is counted with the
 * program. Must be off on a real computer.
 */
static bool quiet = true;
module_param(quiet, bool, 0400);

/* Run the program on the kernel's stack, for the experiments of the handout. */
static bool kernel_stack;
module_param(kernel_stack, bool, 0400);

/* Interrupt the switch at each instruction before the run. Not on machine uml. */
static bool interrupts;
module_param(interrupts, bool, 0400);

/* A program may begin this many bytes below the top of its stack. */
#define MOST_BELOW 256

char *kbench_output, *kbench_input, *kbench_heap;
size_t kbench_output_size, kbench_input_size;

static char *stack, *top;
static const char *stack_is = "not used", *wrong_stack;
static const char *switch_is = "right";
static unsigned int test_number; /* 0 while the program runs */
static bool stepping; /* trap after each instruction of the switch */
static bool has_run, given_up, current_is_same;
static struct task_struct *caller;
static int exit_status;
static u64 nanoseconds, cycles;
static char why[200];

u64 kbench_cycles(void)
{
	u32 low, high;

	asm volatile("lfence\n\trdtsc\n\tlfence"
		     : "=a"(low), "=d"(high)
		     :
		     : "memory");
	return (u64)high << 32 | low;
}

/* Replaced by the program's function when program and module are linked. */
int __weak kbench_main(int argc, char **argv)
{
	return 0;
}

/*
 * The kernel functions that a program may call directly. They are named here so
 * that this module contains their versions and addresses.
 */
static const void *const as_they_are[] __used = {
	memcpy,	 memmove, memset,  memcmp,  memchr,  strlen,
	strnlen, strcmp,  strncmp, strcpy,  strcat,  strncat,
	strchr,	 strstr,  strspn,  strcspn, strpbrk,
};

/*
 * Compare the stack of kbench_begin, which has a return address and a frame
 * pointer above @frame, with the stack that the program must have.
 */
static const char *stack_at(const char *frame)
{
	if ((unsigned long)frame % 16)
		return "misaligned";
	if (!top)
		return object_is_on_stack(frame) ? "right" : "another";
	return frame + 2 * sizeof(long) <= top && frame >= top - MOST_BELOW ?
		       "right" :
		       "another";
}

/* The flags that a switch must not change, in the register rflags. */
#define KEPT_FLAGS 0x47700 /* TF, IF, DF, IOPL, NT and AC */
#define TRAP_FLAG 0x100L

/* What an interrupt writes below the stack pointer, for test_interrupted_switch(). */
#define BELOW_BYTES 512
#define BELOW_BYTE 0x5a

/* One call of kbench_on_stack. The assembly below uses the offsets. */
static struct switch_test {
	u64 before[6]; /* rbx, rbp, r12 to r15; drawn */
	u64 after[6]; /* offset 48 */
	u64 flags_before, flags_after; /* offsets 96 and 104 */
	u64 result; /* offset 112 */
	u64 flags_inside;
	int expected; /* the result; drawn */
} test;

/* Machine uml has a red zone, in which pushf must not write. */
static __always_inline u64 flags_now(void)
{
	u64 flags;

	asm volatile("leaq -128(%%rsp), %%rsp\n\t"
		     "pushfq\n\t"
		     "popq %0\n\t"
		     "leaq 128(%%rsp), %%rsp"
		     : "=r"(flags)
		     :
		     : "memory");
	return flags;
}

/* The bits of MXCSR and of the x87 control word that a function must preserve. */
#define MXCSR_CONTROL 0xffc0
#define X87_CONTROL 0x0f3f
#define X87_RESERVED 0x40 /* always 1 */

/*
 * The control words belong to the process that writes to /proc/kbench/run: its
 * rounding mode and its exception masks.
 */
struct control_words {
	u32 mxcsr;
	u16 x87;
};

static struct control_words drawn_words;

static struct control_words words_now(void)
{
	struct control_words words;

	asm volatile("stmxcsr %0\n\t"
		     "fnstcw %1"
		     : "=m"(words.mxcsr), "=m"(words.x87));
	return words;
}

static void set_words(struct control_words words)
{
	asm volatile("fnclex\n\t"
		     "ldmxcsr %0\n\t"
		     "fldcw %1"
		     :
		     : "m"(words.mxcsr), "m"(words.x87));
}

static void compare_words(struct control_words before)
{
	struct control_words after = words_now();

	if ((before.mxcsr ^ after.mxcsr) & MXCSR_CONTROL ||
	    (before.x87 ^ after.x87) & X87_CONTROL)
		switch_is = "control";
}

/* Leave from a deeper call, with other values in the registers. */
static noinline int leave(int status)
{
	asm volatile("movl $7, %%ebx\n\t"
		     "movl $7, %%r12d\n\t"
		     "movl $7, %%r13d\n\t"
		     "movl $7, %%r14d\n\t"
		     "movl $7, %%r15d\n\t"
		     "call kbench_leave"
		     :
		     : "D"(status)
		     : "rbx", "r12", "r13", "r14", "r15", "memory");
	return 0; /* not reached */
}

int kbench_begin(void)
{
	static char name[] = "program";
	static char *words[] = { name, NULL };

	current_is_same = current == caller;
	stack_is = stack_at(__builtin_frame_address(0));
	if (test_number) {
		test.flags_inside = flags_now();
		return test_number % 2 ? leave(test.expected) : test.expected;
	}
	return kbench_main(1, words);
}

void kbench_give_up(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	given_up = true;
	kbench_leave(status);
}

/*
 * Call kbench_on_stack(top) with drawn values in the registers that a function
 * must preserve, and store what they are afterwards. @below is at least 128,
 * because machine uml has a red zone. 8 bytes more change the alignment of the
 * kernel's stack.
 */
static __always_inline void call_switch(const int below)
{
	struct switch_test *at = &test;
	char *to = top;

	asm volatile("subq %[below], %%rsp\n\t"
		     "pushq %%rbp\n\t"
		     "pushq %%rsi\n\t"
		     "pushfq\n\t"
		     "popq 96(%%rsi)\n\t"
		     "movq 0(%%rsi), %%rbx\n\t"
		     "movq 8(%%rsi), %%rbp\n\t"
		     "movq 16(%%rsi), %%r12\n\t"
		     "movq 24(%%rsi), %%r13\n\t"
		     "movq 32(%%rsi), %%r14\n\t"
		     "movq 40(%%rsi), %%r15\n\t"
		     "call kbench_on_stack\n\t"
		     "popq %%rsi\n\t"
		     "pushfq\n\t"
		     "popq 104(%%rsi)\n\t"
		     "cld\n\t"
		     "movq %%rbx, 48(%%rsi)\n\t"
		     "movq %%rbp, 56(%%rsi)\n\t"
		     "movq %%r12, 64(%%rsi)\n\t"
		     "movq %%r13, 72(%%rsi)\n\t"
		     "movq %%r14, 80(%%rsi)\n\t"
		     "movq %%r15, 88(%%rsi)\n\t"
		     "movq %%rax, 112(%%rsi)\n\t"
		     "popq %%rbp\n\t"
		     "addq %[below], %%rsp"
		     : "+D"(to), "+S"(at)
		     : [below] "i"(below)
		     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11",
		       "r12", "r13", "r14", "r15", "memory", "cc");
}

/* Set or clear the trap flag: the processor then traps after each instruction. */
static __always_inline void step(bool on)
{
	asm volatile("leaq -128(%%rsp), %%rsp\n\t"
		     "pushfq\n\t"
		     "andq %[mask], (%%rsp)\n\t"
		     "orq %[flag], (%%rsp)\n\t"
		     "popfq\n\t"
		     "leaq 128(%%rsp), %%rsp"
		     :
		     : [mask] "i"(~TRAP_FLAG), [flag] "ri"(on ? TRAP_FLAG : 0L)
		     : "memory", "cc");
}

/* Test one switch to top. */
static void test_one(void)
{
	if (stepping)
		step(true);
	if (test_number & 2)
		call_switch(136);
	else
		call_switch(128);
	if (stepping)
		step(false);
	if (memcmp(test.before, test.after, sizeof(test.before)))
		switch_is = "registers";
	else if ((test.flags_before ^ test.flags_after) & KEPT_FLAGS ||
		 (test.flags_before ^ test.flags_inside) & KEPT_FLAGS)
		switch_is = "flags";
	else if ((int)test.result != test.expected)
		switch_is = "result";
	compare_words(drawn_words);
}

/* The tops of the tests: one with each remainder by 16, that of the run, and none. */
#define TOPS 18
/* kbench_begin returns or leaves, with two alignments of the kernel's stack. */
#define WAYS 4

static char *top_of_test(unsigned int number)
{
	const size_t half = STACK_BYTES / 2;
	u32 drawn;

	if (number == TOPS - 1)
		return NULL;
	if (number == TOPS - 2)
		return stack + STACK_BYTES;
	get_random_bytes(&drawn, sizeof(drawn));
	return stack + half + drawn % half / 16 * 16 + number;
}

/*
 * Test the switch before the program runs: to drawn tops, to the top of the
 * run, and on the kernel's stack. kbench_begin returns, or leaves from a deeper
 * call.
 */
static void test_switch(void)
{
	static char *tops[TOPS];
	struct control_words words;
	unsigned long flags;

	for (unsigned int i = 0; i < TOPS; i++)
		tops[i] = top_of_test(i);
	kernel_fpu_begin();
	local_irq_save(flags);
	words = words_now();
	set_words(drawn_words);
	for (test_number = 1; test_number <= WAYS * TOPS; test_number++) {
		top = tops[(test_number - 1) / WAYS];
		test_one();
		if (!wrong_stack && strcmp(stack_is, "right"))
			wrong_stack = stack_is;
	}
	test_number = 0;
	set_words(words);
	local_irq_restore(flags);
	kernel_fpu_end();
}

#ifndef CONFIG_UML

/*
 * The processor runs this function after each instruction while the trap flag is
 * set. An interrupt there would write below the stack pointer, so do the same.
 * The processor itself does not, because it has a stack of its own for this.
 */
static int on_step(struct notifier_block *block, unsigned long event,
		   void *data)
{
	const struct die_args *args = data;

	if (event != DIE_DEBUG)
		return NOTIFY_DONE;
	memset((char *)args->regs->sp - BELOW_BYTES, BELOW_BYTE, BELOW_BYTES);
	return NOTIFY_STOP;
}

/*
 * Test the switch while each of its instructions is followed by an interrupt. A
 * value that kbench_on_stack keeps below the stack pointer is lost.
 */
static void test_interrupted_switch(void)
{
	static struct notifier_block block = { .notifier_call = on_step };

	if (register_die_notifier(&block))
		return;
	stepping = true;
	test_switch();
	stepping = false;
	unregister_die_notifier(&block);
	if (strcmp(switch_is, "right"))
		switch_is = "interrupted";
}

#else
static void test_interrupted_switch(void)
{
}
#endif

static ssize_t run_write(struct file *file, const char __user *buffer,
			 size_t size, loff_t *position)
{
	struct control_words words;
	unsigned long flags = 0;
	u64 ns, count;

	if (has_run)
		return -EBUSY;
	has_run = true;
	caller = current;
	get_random_bytes(test.before, sizeof(test.before));
	get_random_bytes(&test.expected, sizeof(test.expected));
	get_random_bytes(&drawn_words, sizeof(drawn_words));
	drawn_words.mxcsr &= MXCSR_CONTROL;
	drawn_words.x87 = (drawn_words.x87 & X87_CONTROL) | X87_RESERVED;
	test_switch();
	if (interrupts && !strcmp(switch_is, "right"))
		test_interrupted_switch();
	if (quiet)
		local_irq_save(flags);
	words = words_now();
	ns = ktime_get_ns();
	count = kbench_cycles();
	top = kernel_stack ? NULL : stack + STACK_BYTES;
	exit_status = kbench_on_stack(top) & 0xff;
	cycles = kbench_cycles() - count;
	nanoseconds = ktime_get_ns() - ns;
	if (quiet) {
		/* Otherwise another process may have run meanwhile. */
		compare_words(words);
		local_irq_restore(flags);
	}
	return (ssize_t)size;
}

static ssize_t input_write(struct file *file, const char __user *buffer,
			   size_t size, loff_t *position)
{
	if (size > INPUT_BYTES - kbench_input_size)
		return -EFBIG;
	if (copy_from_user(kbench_input + kbench_input_size, buffer, size))
		return -EFAULT;
	kbench_input_size += size;
	return (ssize_t)size;
}

static ssize_t output_read(struct file *file, char __user *buffer, size_t size,
			   loff_t *position)
{
	return simple_read_from_buffer(buffer, size, position, kbench_output,
				       kbench_output_size);
}

static int status_show(struct seq_file *file, void *unused)
{
	size_t blocks, bytes;

	kbench_heap_left(&blocks, &bytes);
	seq_printf(file, "ran %d\n", has_run);
	seq_printf(file, "exit %d\n", exit_status);
	seq_printf(file, "ns %llu\n", nanoseconds);
	seq_printf(file, "cycles %llu\n", cycles);
	seq_printf(file, "left %zu %zu\n", blocks, bytes);
	seq_printf(file, "current %s\n", current_is_same ? "same" : "other");
	seq_printf(file, "stack %s\n", wrong_stack ?: stack_is);
	seq_printf(file, "switch %s\n", switch_is);
	/* A line of its own text must not look like a line above. */
	if (given_up)
		seq_printf(file, "why %*pE\n", (int)strlen(why), why);
	seq_puts(file, "\n");
	return 0;
}

static int status_open(struct inode *inode, struct file *file)
{
	return single_open(file, status_show, NULL);
}

static const struct proc_ops run_ops = { .proc_write = run_write };
static const struct proc_ops input_ops = { .proc_write = input_write };
static const struct proc_ops output_ops = { .proc_read = output_read };
static const struct proc_ops status_ops = {
	.proc_open = status_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static void free_all(void)
{
	vfree(kbench_output);
	vfree(kbench_input);
	vfree(kbench_heap);
	vfree(stack);
}

static int __init kbench_init(void)
{
	struct proc_dir_entry *folder;

	kbench_output = vmalloc(OUTPUT_BYTES);
	kbench_input = vmalloc(INPUT_BYTES);
	kbench_heap = vmalloc(HEAP_BYTES);
	stack = vmalloc(STACK_BYTES);
	/* Digits follow the input, so that a number that does not end there is wrong. */
	if (kbench_input)
		memset(kbench_input, '1', INPUT_BYTES);
	if (!kbench_output || !kbench_input || !kbench_heap || !stack)
		goto failed;
	folder = proc_mkdir("kbench", NULL);
	if (!folder)
		goto failed;
	if (proc_create("run", 0200, folder, &run_ops) &&
	    proc_create("input", 0200, folder, &input_ops) &&
	    proc_create("output", 0400, folder, &output_ops) &&
	    proc_create("status", 0400, folder, &status_ops))
		return 0;
	remove_proc_subtree("kbench", NULL);
failed:
	free_all();
	return -ENOMEM;
}

static void __exit kbench_exit(void)
{
	remove_proc_subtree("kbench", NULL);
	free_all();
}

module_init(kbench_init);
module_exit(kbench_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A program inside the kernel, measured");
