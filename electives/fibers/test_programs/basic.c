// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test convert, create, switch and delete, every error, and the state that
 * stays with the thread.
 */
#include "test_program.h"
#include "windows.h"

#include <time.h>

static long home, other;
static int steps;

static void one_step(void *argument)
{
	for (;;) {
		steps += (int)(long)argument;
		SAME(fiber_switch(home), 0);
	}
}

static void there_and_back(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	SAME(home, 1);
	other = fiber_test_fiber(one_step, (void *)3);
	SAME(other, 2);
	for (int i = 0; i < 1000; i++)
		SAME(fiber_switch(other), 0);
	SAME(steps, 3000);
	SAME(fiber_delete(other), 0);
	SAME(fiber_switch(other), -ESRCH);
	SAME(fiber_delete(other), -ESRCH);
	/* The id of a deleted fiber is not reused at once. */
	SAME(fiber_test_fiber(one_step, NULL), 3);
}

static void nothing_there(void)
{
	void *smallest = fiber_test_memory(STACK);

	SAME(fibers_begin(), 0);
	SAME(fiber_switch(1), -EPERM);
	SAME(fiber_create(fiber_test_memory(STACK), STACK, one_step, NULL),
	     -EPERM);
	SAME(fiber_delete(1), -EPERM);
	home = fiber_test_convert();
	SAME(fiber_convert(), -EEXIST);
	SAME(fiber_switch(-1), -ESRCH);
	for (int bit = 0; bit < 64; bit++) { /* there is no other fiber */
		long wrong = home ^ (long)(1ul << bit);

		SAME(fiber_switch(wrong), -ESRCH);
		SAME(fiber_delete(wrong), -ESRCH);
	}
	errno = 11;
	SAME(fiber_switch(home), -EBUSY);
	SAME(errno, 11);
	SAME(fiber_delete(home), -EBUSY);
#ifndef FIBERS_USERSPACE
	SAME(fibers_ask(_IO('F', 99), 0), -ENOTTY);
	SAME(fibers_ask(FIBERS_CREATE, 8), -EFAULT);
#endif
	SAME(fiber_create(NULL, STACK, one_step, NULL), -EFAULT);
	/* A stack has at least 128 bytes. */
	for (size_t size = 0; size < 128; size++)
		SAME(fiber_create(smallest, size, one_step, NULL), -EINVAL);
	CHECK(fiber_create(smallest, 128, one_step, NULL) > 0);
	SAME(fiber_create((void *)-4096L, 1 << 20, one_step, NULL), -EINVAL);
	SAME(fiber_create((void *)0xffffffffc0000000, 4096, one_step, NULL),
	     -EFAULT);
}

/* A drawn stack lies in the middle part of this memory. */
#define SIDE 256
#define LEAST_TO_RUN 4096
#define STACKS 200

static struct {
	unsigned char below[SIDE], stack[LEAST_TO_RUN + 2 * SIDE], above[SIDE];
} around __attribute__((aligned(4096)));

static uintptr_t at_entry; /* the stack pointer when the fiber begins */

static void tells_its_stack(void *unused)
{
	(void)unused;
	/* GCC stores the frame pointer below the return address. */
	at_entry = (uintptr_t)__builtin_frame_address(0) + 8;
	SAME(fiber_switch(home), 0);
}

static bool unchanged(const unsigned char *begin, const unsigned char *end,
		      unsigned char value)
{
	while (begin < end && *begin == value)
		begin++;
	return begin == end;
}

/* Stacks with drawn addresses and sizes. The memory around them is not changed. */
static void any_stack(void)
{
	struct timespec now;
	const unsigned char *end = (unsigned char *)(&around + 1);

	clock_gettime(CLOCK_REALTIME, &now);
	srandom((unsigned int)now.tv_nsec);
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	for (int i = 0; i < STACKS; i++) {
		unsigned char *stack = around.stack + random() % SIDE;
		size_t size = (i % 2 ? LEAST_TO_RUN : 128) + random() % SIDE;
		long id;

		memset(&around, i, sizeof(around));
		id = fiber_create(stack, size, tells_its_stack, NULL);
		CHECK(id > 0);
		if (size >= LEAST_TO_RUN) {
			SAME(fiber_switch(id), 0);
			SAME(at_entry % 16, 8);
			CHECK(at_entry - (uintptr_t)stack < size);
		}
		CHECK(unchanged(around.below, stack, (unsigned char)i));
		CHECK(unchanged(stack + size, end, (unsigned char)i));
		SAME(fiber_delete(id), 0);
	}
}

static volatile int phase;

static void wait_phase(int wanted)
{
	while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) != wanted)
		usleep(1000);
}

static void stays(void *unused)
{
	(void)unused;
	__atomic_store_n(&phase, 1, __ATOMIC_RELEASE);
	wait_phase(2);
	SAME(fiber_switch(home), 0);
	CHECK(!"the fiber is run again");
}

static void *tries_all(void *unused)
{
	(void)unused;
	wait_phase(1);
	SAME(fiber_switch(other), -EPERM);
	CHECK(fiber_test_convert() > 0);
	SAME(fiber_switch(other), -EBUSY);
	SAME(fiber_delete(other), -EBUSY);
	SAME(fiber_switch(home), -EACCES);
	SAME(fiber_delete(home), -EACCES);
	__atomic_store_n(&phase, 2, __ATOMIC_RELEASE);
	return NULL;
}

static void runs_elsewhere(void)
{
	pthread_t thread;

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(stays, NULL);
	thread = fiber_test_thread(tries_all, NULL);
	SAME(fiber_switch(other), 0);
	pthread_join(thread, NULL);
}

static __thread int mine;
static int found_tls, found_errno;
static bool found_flag;
static sigset_t found_mask;

/* Programs may change this flag, which has no effect (ID in the manuals). */
#define FLAG (1L << 21)

static long flags(void)
{
	long now;

	__asm__ volatile("pushfq\n\tpopq %0" : "=r"(now) : : "memory");
	return now;
}

static void set_flag(bool on)
{
	long wanted = on ? flags() | FLAG : flags() & ~FLAG;

	__asm__ volatile("pushq %0\n\tpopfq" : : "r"(wanted) : "cc", "memory");
}

/*
 * Must not be inlined, because the compiler may keep the address of a
 * thread-local variable in a register.
 */
static __attribute__((noinline)) void look(void)
{
	found_tls = mine;
	found_errno = errno;
	found_flag = flags() & FLAG;
	pthread_sigmask(SIG_BLOCK, NULL, &found_mask);
}

static void looks(void *unused)
{
	(void)unused;
	for (;;) {
		look();
		/*
		 * Each thread stores its first fiber in home before it comes
		 * here.
		 */
		SAME(fiber_switch(home), 0);
	}
}

static void *comes(void *unused)
{
	sigset_t mask;

	(void)unused;
	home = fiber_test_convert();
	mine = 2;
	errno = 22;
	set_flag(false);
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	SAME(fiber_switch(other), 0);
	SAME(found_tls, 2);
	SAME(found_errno, 22);
	CHECK(!found_flag);
	CHECK(sigismember(&found_mask, SIGUSR1));
	SAME(mine, 2);
	return NULL;
}

/* A fiber uses the TLS, errno, signal mask and flags of the thread that runs it. */
static void of_the_thread(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(looks, NULL);
	mine = 1;
	errno = 11;
	set_flag(true);
	SAME(fiber_switch(other), 0);
	CHECK(found_flag);
	CHECK(flags() & FLAG);
	SAME(found_tls, 1);
	SAME(found_errno, 11);
	CHECK(!sigismember(&found_mask, SIGUSR1));
	pthread_join(fiber_test_thread(comes, NULL), NULL);
	SAME(mine, 1);
}

/*
 * In a loop like this, the compiler may look up thread-local data only once,
 * before the loop.
 */
static void only_switches(void *unused)
{
	(void)unused;
	for (;;)
		fiber_switch(home);
}

static void *comes_twice(void *unused)
{
	(void)unused;
	home = fiber_test_convert();
	for (int i = 0; i < 2; i++)
		SAME(fiber_switch(other), 0);
	return NULL;
}

/* Run a fiber in several threads, one after the other. */
static void moves(void)
{
	long mine;

	SAME(fibers_begin(), 0);
	mine = home = fiber_test_convert();
	other = fiber_test_fiber(only_switches, NULL);
	for (int i = 0; i < 3; i++) {
		home = mine;
		SAME(fiber_switch(other), 0);
		pthread_join(fiber_test_thread(comes_twice, NULL), NULL);
	}
	SAME(fiber_delete(other), 0);
}

static bool blocked(int signal)
{
	sigset_t mask;

	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, signal);
}

static void goes_home(int signal)
{
	(void)signal;
	fiber_switch(home);
}

static void interrupted(void *unused)
{
	(void)unused;
	raise(SIGUSR1);
	steps++;
	SAME(fiber_switch(home), 0);
}

/*
 * Leave a signal handler by a switch, and continue the handler later. The
 * signal stays blocked in the thread until the handler ends.
 */
static void out_of_a_handler(void)
{
	struct sigaction action = { .sa_handler = goes_home };

	sigaction(SIGUSR1, &action, NULL);
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(interrupted, NULL);
	SAME(fiber_switch(other), 0);
	SAME(steps, 0);
	CHECK(blocked(SIGUSR1));
	SAME(fiber_switch(other), 0);
	SAME(steps, 1);
	CHECK(!blocked(SIGUSR1));
}

static void *windows_home;
static unsigned long windows_key;

static void windows_fiber(void *argument)
{
	FlsSetValue(windows_key, argument);
	SwitchToFiber(windows_home);
	CHECK(FlsGetValue(windows_key) == argument);
	SwitchToFiber(windows_home);
}

static void windows_names(void)
{
	void *a, *b;

	SAME(fibers_begin(), 0);
	windows_home = ConvertThreadToFiber(NULL);
	CHECK(windows_home && !ConvertThreadToFiber(NULL));
	windows_key = FlsAlloc(NULL);
	CHECK(windows_key != FLS_OUT_OF_INDEXES);
	a = CreateFiber(0, windows_fiber, &a);
	b = CreateFiber(STACK, windows_fiber, &b);
	CHECK(a && b);
	for (int i = 0; i < 2; i++) {
		SwitchToFiber(a);
		SwitchToFiber(b);
	}
	CHECK(!FlsGetValue(windows_key));
	DeleteFiber(a);
	DeleteFiber(b);
	CHECK(FlsFree(windows_key));
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "there-and-back", there_and_back },
		{ "errors", nothing_there },
		{ "stacks", any_stack },
		{ "elsewhere", runs_elsewhere },
		{ "thread", of_the_thread },
		{ "moves", moves },
		{ "signal", out_of_a_handler },
		{ "windows", windows_names },
		{ NULL, NULL },
	};

	return fiber_test_main(argc, argv, tests);
}
