// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * User-mode Linux: a thread's user registers are two arrays in its task, which
 * are loaded on the return to user space. gp[] also contains the fs base (TLS),
 * which must stay with the thread. Therefore the registers to exchange are
 * listed one by one.
 */
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "context.h"

static const u8 places[] = {
	HOST_BX,  HOST_BP,  HOST_R12, HOST_R13, HOST_R14, HOST_R15,
	HOST_CX,  HOST_DX,  HOST_SI,  HOST_DI,	HOST_R8,  HOST_R9,
	HOST_R10, HOST_R11, HOST_IP,  HOST_SP,
};

struct context {
	unsigned long gp[ARRAY_SIZE(places)];
	u8 fp[];
};

/*
 * Return the size of the floating-point registers in regs.fp. From Linux 6.13
 * on, the host determines the size, and modules cannot read it. The registers
 * are the last part of the task there, so the size follows from ksize(), which
 * returns the size of the task's memory. ksize() rounds up, so the unused bytes
 * after the registers are copied as well.
 */
static size_t fp_size(void)
{
#ifdef MAX_FP_NR
	return sizeof(current_pt_regs()->regs.fp);
#else
	const void *task = current, *fp = current_pt_regs()->regs.fp;

	return ksize(task) - (fp - task);
#endif
}

size_t context_size(void)
{
	return sizeof(struct context) + fp_size();
}

static void set(struct context *to, int place, unsigned long value)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i] == place)
			to->gp[i] = value;
}

void context_begin(struct context *new, unsigned long ip, unsigned long sp,
		   unsigned long argument)
{
	memset(new->gp, 0, sizeof(new->gp));
	set(new, HOST_IP, ip);
	set(new, HOST_SP, sp);
	set(new, HOST_DI, argument);
	memcpy(new->fp, current_pt_regs()->regs.fp, fp_size());
}

void context_switch(struct context *from, const struct context *to)
{
	struct uml_pt_regs *regs = &current_pt_regs()->regs;

	/* task 1 { */
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		from->gp[i] = regs->gp[places[i]];
		regs->gp[places[i]] = to->gp[i];
	}
	memcpy(from->fp, regs->fp, fp_size());
	memcpy(regs->fp, to->fp, fp_size());
	/* } task 1 */
}
