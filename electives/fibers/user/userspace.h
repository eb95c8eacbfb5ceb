/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The functions of fibers_lib.h without a kernel module: a switch is a call
 * that returns on another stack. It saves only what a function must preserve,
 * six registers and two control words of floating point, because the compiler
 * assumes that a call changes all other registers.
 *
 * Speed is the only aim: this code does not notice when a thread ends inside a
 * fiber, and does not stop a thread from running another thread's first fiber.
 */
#ifndef FIBERS_USERSPACE_H
#define FIBERS_USERSPACE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fibers.h"

struct user_fiber {
	void *sp; /* saved registers; assembly uses offsets 0, 8 */
	struct user_fiber *owned; /* this fiber while a thread runs it */
	uint64_t *local;
	bool home, there;
};

static struct user_fiber user_fibers[FIBERS_MOST + 1];
static uint32_t user_fibers_made;
static bool user_keys[FIBERS_KEYS];
static __thread struct user_fiber *user_current;

/* Release @from only after its registers are saved. */
void user_switch(struct user_fiber *from, struct user_fiber *to);
void user_start(void);

__asm__("	.text\n"
	"user_switch:\n"
	"	push	%rbp\n	push	%rbx\n	push	%r12\n"
	"	push	%r13\n	push	%r14\n	push	%r15\n"
	"	sub	$8, %rsp\n"
	"	stmxcsr	(%rsp)\n"
	"	fnstcw	4(%rsp)\n"
	"	mov	%rsp, (%rdi)\n"
	"	movq	$0, 8(%rdi)\n"
	"	mov	(%rsi), %rsp\n"
	"	ldmxcsr	(%rsp)\n"
	"	fldcw	4(%rsp)\n"
	"	add	$8, %rsp\n"
	"	pop	%r15\n	pop	%r14\n	pop	%r13\n"
	"	pop	%r12\n	pop	%rbx\n	pop	%rbp\n"
	"	ret\n"
	"user_start:\n"
	"	mov	%rbx, %rdi\n"
	"	jmp	*%r12\n");

static inline int fibers_begin(void)
{
	return 0;
}

/*
 * Read the address each time, because after a switch the thread may be another
 * one. The asm statement keeps the compiler from reading the address only once
 * before a loop.
 */
static __attribute__((noinline)) struct user_fiber **user_me(void)
{
	__asm__ volatile("");
	return &user_current;
}

static inline struct user_fiber *user_make(void)
{
	uint32_t id =
		__atomic_add_fetch(&user_fibers_made, 1, __ATOMIC_RELAXED);

	return id <= FIBERS_MOST ? &user_fibers[id] : NULL;
}

static inline long fiber_convert(void)
{
	struct user_fiber *fiber;

	if (*user_me())
		return -EEXIST;
	fiber = user_make();
	if (!fiber)
		return -ENOSPC;
	fiber->owned = fiber;
	fiber->home = fiber->there = true;
	*user_me() = fiber;
	return fiber - user_fibers;
}

static inline long fiber_create(void *stack, size_t size, void (*entry)(void *),
				void *argument)
{
	uint64_t *top = (void *)(((uintptr_t)stack + size) & ~15ULL);
	struct user_fiber *fiber;

	if (!*user_me())
		return -EPERM;
	if (size < 256)
		return -EINVAL;
	fiber = user_make();
	if (!fiber)
		return -ENOSPC;
	/*
	 * Build the stack that user_switch expects. Its "ret" leads to
	 * user_start, which jumps to the entry with the stack aligned as after
	 * a call: a multiple of 16 minus the return address, which is 0 here.
	 */
	top -= 8;
	*--top = 0;
	*--top = (uintptr_t)user_start;
	*--top = 0; /* rbp */
	*--top = (uintptr_t)argument; /* rbx */
	*--top = (uintptr_t)entry; /* r12 */
	*--top = 0;
	*--top = 0;
	*--top = 0;
	*--top = 0;
	__asm__ volatile("stmxcsr (%0)\n\tfnstcw 4(%0)"
			 :
			 : "r"(top)
			 : "memory");
	fiber->sp = top;
	fiber->there = true;
	return fiber - user_fibers;
}

static inline long fiber_switch(long id)
{
	struct user_fiber *from = *user_me(), *to = &user_fibers[id];
	struct user_fiber *nobody = NULL;

	if (!from)
		return -EPERM;
	if (id < 1 || id > FIBERS_MOST || !to->there)
		return -ESRCH;
	if (!__atomic_compare_exchange_n(&to->owned, &nobody, to, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return -EBUSY;
	*user_me() = to;
	user_switch(from, to);
	return 0;
}

static inline long fiber_delete(long id)
{
	struct user_fiber *fiber = &user_fibers[id];
	struct user_fiber *nobody = NULL;

	if (id < 1 || id > FIBERS_MOST || !fiber->there)
		return -ESRCH;
	if (fiber->home)
		return fiber->owned ? -EBUSY : -EACCES;
	if (!__atomic_compare_exchange_n(&fiber->owned, &nobody, fiber, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return -EBUSY;
	fiber->there = false;
	free(fiber->local);
	fiber->local = NULL;
	return 0;
}

static inline long fiber_local_alloc(void)
{
	for (long key = 0; key < FIBERS_KEYS; key++)
		if (!__atomic_exchange_n(&user_keys[key], true,
					 __ATOMIC_ACQUIRE))
			return key;
	return -ENOSPC;
}

static inline bool user_known(long key)
{
	return key >= 0 && key < FIBERS_KEYS && user_keys[key];
}

static inline long fiber_local_free(long key)
{
	if (!user_known(key))
		return -EINVAL;
	for (uint32_t i = 1; i <= user_fibers_made && i <= FIBERS_MOST; i++)
		if (user_fibers[i].local)
			user_fibers[i].local[key] = 0;
	user_keys[key] = false;
	return 0;
}

static inline long fiber_local_get(long key, uint64_t *value)
{
	struct user_fiber *me = *user_me();

	if (!me)
		return -EPERM;
	if (!user_known(key))
		return -EINVAL;
	*value = me->local ? me->local[key] : 0;
	return 0;
}

static inline long fiber_local_set(long key, uint64_t value)
{
	struct user_fiber *me = *user_me();

	if (!me)
		return -EPERM;
	if (!user_known(key))
		return -EINVAL;
	if (!me->local)
		me->local = calloc(FIBERS_KEYS, sizeof(*me->local));
	if (!me->local)
		return -ENOMEM;
	me->local[key] = value;
	return 0;
}

#endif
