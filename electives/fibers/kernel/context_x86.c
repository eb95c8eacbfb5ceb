// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * x86: the general registers are on the kernel's stack, as pt_regs. The
 * floating-point registers are in the processor or in struct fpu; after
 * kernel_fpu_begin they are in struct fpu.
 *
 * Flags, segments, fs and gs base (TLS) and PKRU belong to the thread and are
 * not switched. No flag and no selector ever comes from a program. A program
 * may choose any instruction pointer: unless it is the address after the system
 * call, the kernel returns by iret, which checks it.
 */
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>
#include <linux/version.h>

#include <asm/fpu/api.h>
#include <asm/fpu/types.h>

#include "context.h"

struct context {
	unsigned long bx, bp, r12, r13, r14, r15;
	unsigned long cx, dx, si, di, r8, r9, r10, r11;
	unsigned long ip, sp;
	u8 fpu[];
};

/*
 * From Linux 6.16 on, struct fpu follows the task in memory. x86_task_fpu()
 * would return it, but with CONFIG_X86_DEBUG_FPU that is a function that
 * modules cannot call.
 */
static struct fpu *current_fpu(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
	return &current->thread.fpu;
#else
	return (struct fpu *)(current + 1);
#endif
}

size_t context_size(void)
{
	return sizeof(struct context) + current_fpu()->fpstate->size;
}

static void save(struct context *to, const struct pt_regs *regs)
{
	to->bx = regs->bx;
	to->bp = regs->bp;
	to->r12 = regs->r12;
	to->r13 = regs->r13;
	to->r14 = regs->r14;
	to->r15 = regs->r15;
	to->cx = regs->cx;
	to->dx = regs->dx;
	to->si = regs->si;
	to->di = regs->di;
	to->r8 = regs->r8;
	to->r9 = regs->r9;
	to->r10 = regs->r10;
	to->r11 = regs->r11;
	to->ip = regs->ip;
	to->sp = regs->sp;
}

static void load(struct pt_regs *regs, const struct context *from)
{
	regs->bx = from->bx;
	regs->bp = from->bp;
	regs->r12 = from->r12;
	regs->r13 = from->r13;
	regs->r14 = from->r14;
	regs->r15 = from->r15;
	regs->cx = from->cx;
	regs->dx = from->dx;
	regs->si = from->si;
	regs->di = from->di;
	regs->r8 = from->r8;
	regs->r9 = from->r9;
	regs->r10 = from->r10;
	regs->r11 = from->r11;
	regs->ip = from->ip;
	regs->sp = from->sp;
}

void context_begin(struct context *new, unsigned long ip, unsigned long sp,
		   unsigned long argument)
{
	struct fpstate *mine = current_fpu()->fpstate;

	memset(new, 0, sizeof(*new));
	new->ip = ip;
	new->sp = sp;
	new->di = argument;
	kernel_fpu_begin();
	memcpy(new->fpu, &mine->regs, mine->size);
	kernel_fpu_end();
}

void context_switch(struct context *from, const struct context *to)
{
	struct pt_regs *regs = current_pt_regs();
	struct fpu *fpu = current_fpu();

	/* task 1 { */
	save(from, regs);
	load(regs, to);
	kernel_fpu_begin();
	memcpy(from->fpu, &fpu->fpstate->regs, fpu->fpstate->size);
	memcpy(&fpu->fpstate->regs, to->fpu, fpu->fpstate->size);
	/*
	 * A processor that ran this thread earlier may still hold its old
	 * registers, and the thread may return to it before it leaves the
	 * kernel: the old registers must not be considered valid.
	 * kernel_fpu_begin has invalidated them only on this processor.
	 */
	fpu->last_cpu = -1;
	kernel_fpu_end();
	/* } task 1 */
}
