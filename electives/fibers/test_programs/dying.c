// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * dying MILLISECONDS: threads end inside fibers, one after the other. Other
 * threads try to run these fibers at the same time, while the module removes
 * the dead ones.
 */
#include "test_program.h"

#include <time.h>

#define OTHERS 2
#define STACKS 8

static long target, first;
static bool stop;
static unsigned long told_dead, told_gone;

static void publish(long *place, long id)
{
	__atomic_store_n(place, id, __ATOMIC_RELEASE);
}

/* Publish the id only now, so that no other thread has entered the fiber. */
static void ends_here(void *id)
{
	publish(&target, *(long *)id);
	syscall(SYS_exit, 0);
}

static void *ends(void *id)
{
	publish(&first, fiber_test_convert());
	fiber_switch(*(long *)id);
	CHECK(!"a thread continues after its end");
	return NULL;
}

static void wants(const long *place)
{
	long said = fiber_switch(__atomic_load_n(place, __ATOMIC_ACQUIRE));

	if (said == -EOWNERDEAD)
		__atomic_fetch_add(&told_dead, 1, __ATOMIC_RELAXED);
	else if (said == -ESRCH)
		__atomic_fetch_add(&told_gone, 1, __ATOMIC_RELAXED);
	else
		CHECK(said == -EBUSY || said == -EACCES);
}

static void *wants_them(void *unused)
{
	(void)unused;
	fiber_test_convert();
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		wants(&target);
		wants(&first);
	}
	return NULL;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	char *stacks = fiber_test_memory(STACKS * STACK);
	pthread_t others[OTHERS];
	long until, rounds = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 2) {
		fputs("usage: dying MILLISECONDS\n", stderr);
		return 2;
	}
	until = now_ms() + atol(argv[1]);
	SAME(fibers_begin(), 0);
	fiber_test_convert();
	for (int i = 0; i < OTHERS; i++)
		others[i] = fiber_test_thread(wants_them, NULL);
	while (now_ms() < until) {
		char *stack = stacks + rounds++ % STACKS * STACK;
		/* Creating a fiber removes threads that have ended. */
		long id = fiber_create(stack, STACK, ends_here, &id);

		CHECK(id > 0);
		pthread_join(fiber_test_thread(ends, &id), NULL);
		/*
		 * Every second round, wait until the kernel has released the
		 * thread.
		 */
		if (rounds % 2)
			usleep(100000);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(others[i], NULL);
	CHECK(told_dead && told_gone);
	printf("%ld threads ended; switches failed: %lu EOWNERDEAD, %lu ESRCH\n",
	       rounds, told_dead, told_gone);
	return fiber_test_end();
}
