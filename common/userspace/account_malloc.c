// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Account for a call in a program: allocate by malloc, keep the same counters
 * as the module, and make chosen allocations and yields fail.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocator_state.h"

/*
 * A stage must not access the header of a block. With a checker (ASan or
 * valgrind) such an access is reported, like an access after the end of the
 * block.
 */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define print_stack() __sanitizer_print_stack_trace()
#define hide(p) ASAN_POISON_MEMORY_REGION(p, sizeof(*(p)))
#define unhide(p) ASAN_UNPOISON_MEMORY_REGION(p, sizeof(*(p)))
#elif __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define hide(p) ((void)VALGRIND_MAKE_MEM_NOACCESS(p, sizeof(*(p))))
#define unhide(p) ((void)VALGRIND_MAKE_MEM_DEFINED(p, sizeof(*(p))))
#else
#define hide(p) ((void)(p))
#define unhide(p) ((void)(p))
#endif

#ifndef print_stack
#define print_stack() ((void)0)
#endif

struct fib_block {
	struct fib_call *call;
	size_t bytes;
};

struct allocator_state allocator;

#if defined(__SANITIZE_ADDRESS__)
/* The blocks not yet freed, in the order of their allocation. */
static struct fib_block **held;
static size_t held_count, held_room;

static void hold(struct fib_block *block)
{
	if (held_count == held_room) {
		held_room = 2 * held_room + 16;
		held = realloc(held, held_room * sizeof(*held));
		if (!held)
			abort();
	}
	held[held_count++] = block;
}

static void let_go(const struct fib_block *block)
{
	size_t i = held_count;

	while (i && held[i - 1] != block)
		i--;
	if (!i)
		return;
	memmove(held + i - 1, held + i, (held_count - i) * sizeof(*held));
	held_count--;
}

void print_leak(u64 blocks)
{
	void *frames[16];
	int thread;

	if (held_count > blocks)
		print_frames(frames, __asan_get_alloc_stack(
					     held[blocks], frames,
					     sizeof(frames) / sizeof(*frames),
					     &thread));
}

void print_frames(void *const *frames, size_t depth)
{
	for (size_t i = 0; i < depth; i++) {
		/* A function and its inlined callers, each ended by a NUL. */
		char text[600] = "";

		/* A frame has the address to return to, after the call. */
		__sanitizer_symbolize_pc((char *)frames[i] - 1, "%f %s:%l",
					 text, sizeof(text) - 1);
		for (const char *one = text; *one; one += strlen(one) + 1)
			printf(" %s", one);
	}
}
#else
#define hold(block) ((void)0)
#define let_go(block) ((void)0)

void print_leak(u64 blocks)
{
}

void print_frames(void *const *frames, size_t depth)
{
}
#endif

void begin_call(struct fib_call *call)
{
	*call = (struct fib_call){
		.work = allocator.yield_always ? FIB_WORK_LIMIT : 0,
	};
	allocator.allocations = 0;
	allocator.yields = 0;
	allocator.announced = 0;
	allocator.taken = 0;
	allocator.blocks = 0;
	allocator.bytes = 0;
	allocator.peak_bytes = 0;
#if defined(__SANITIZE_ADDRESS__)
	held_count = 0;
#endif
}

/*
 * Print which allocation or yield fails, and the stack: see
 * sanitizer_report.py. The attribute keeps this function out of the callers'
 * code, because the measurement of a small F(n) includes the code around each
 * allocation.
 */
static __attribute__((cold)) void tell(const char *what, u64 place)
{
	if (!allocator.tell)
		return;
	fflush(stdout);
	fprintf(stderr, "fib: %s %llu fails here:\n", what, place);
	print_stack();
	fputs("fib: and then:\n", stderr);
}

static __attribute__((cold)) void *allocation_fails(struct fib_call *call)
{
	if (allocator.allocations == allocator.fail_at)
		tell("allocation", allocator.fail_at);
	call->error = -ENOMEM;
	return NULL;
}

/* Print the same message as the contract tests, and end the program. */
static __attribute__((cold, noreturn)) void
too_much_work(const struct fib_call *call)
{
	fflush(stdout);
	fprintf(stderr,
		"fib: fib_account_work gets %llu products at once, at most %d are allowed\n",
		(unsigned long long)call->work - FIB_WORK_LIMIT,
		FIB_WORK_LIMIT);
	print_stack();
	abort();
}

void *fib_alloc(struct fib_call *call, size_t count, size_t size)
{
	struct fib_block *block;
	size_t bytes, total;

	if (++allocator.allocations == allocator.fail_at ||
	    (allocator.fails && allocator.fails(-ENOMEM)) ||
	    __builtin_mul_overflow(count, size, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*block), &total))
		return allocation_fails(call);
	block = allocator.get ? allocator.get(total) : malloc(total);
	if (!block)
		return allocation_fails(call);
	block->call = call;
	block->bytes = bytes;
	hide(block);
	hold(block);
	/*
	 * Keep counters here, too, because the stage can change the counters in
	 * @call.
	 */
	allocator.taken++;
	allocator.blocks++;
	allocator.bytes += bytes;
	if (allocator.peak_bytes < allocator.bytes)
		allocator.peak_bytes = allocator.bytes;
	call->allocations++;
	call->blocks++;
	call->bytes += bytes;
	if (call->peak_bytes < call->bytes)
		call->peak_bytes = call->bytes;
	return block + 1;
}

void fib_free(const void *pointer)
{
	struct fib_block *block = (struct fib_block *)pointer;

	if (!block)
		return;
	block--;
	let_go(block);
	unhide(block);
	allocator.blocks--;
	allocator.bytes -= block->bytes;
	block->call->blocks--;
	block->call->bytes -= block->bytes;
	if (!allocator.put || !allocator.put(block))
		free(block);
}

int fib_yield(struct fib_call *call)
{
	if (call->work > 2 * FIB_WORK_LIMIT)
		too_much_work(call);
	allocator.announced += call->work - FIB_WORK_LIMIT + !!allocator.yields;
	/*
	 * Start at 1 below the limit, so that any further work leads to a
	 * yield.
	 */
	call->work = allocator.yield_always ? FIB_WORK_LIMIT - 1 : 0;
	if (++allocator.yields != allocator.kill_at &&
	    !(allocator.fails && allocator.fails(-EINTR)))
		return 0;
	tell("yield", allocator.kill_at);
	call->error = -EINTR;
	return -EINTR;
}

void fib_assert_failed(const char *file, int line)
{
	fflush(stdout);
	fprintf(stderr, "%s:%d: Assertion failed\n", file, line);
	abort();
}

void fib_trace_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("fib: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}
