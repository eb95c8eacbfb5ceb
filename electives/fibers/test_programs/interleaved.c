// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Two threads switch at the same time, in the order that variants/interleaved.c
 * forces: first both threads switch to the same fiber, which only one of them
 * may get; then the first thread leaves the fiber to which the second one
 * switches; then the second thread leaves the fiber to which the first one
 * switches; then the first thread deletes the fiber to which the second one
 * switches. In the first case, the number of fibers grows to the largest one.
 * Then a thread tries to switch to fibers in all states, while the instructions
 * of the switch are counted.
 */
#include "test_program.h"
#include "image.h"

#include <limits.h>
#include <sched.h>
#include <time.h>

#define ROUNDS 20
#define FIRST (1L << 62)
#define SECOND LONG_MIN /* the highest bit */
#define LEAVING (FIRST | SECOND)
#define COUNTED (1L << 61)

/* The most fibers that fit into the table besides those of a test. None of them ever runs. */
#define OTHERS (FIBERS_MOST - 4)
#define OTHERS_BITS 14

_Static_assert(FIBERS_MOST == 1 << OTHERS_BITS, "the last number");

static pthread_barrier_t both;
static long shared, next, homes[2], results[2];
static int visits;
static __thread int me;

/*
 * Must not be inlined, because after a switch the fiber may run in another
 * thread.
 */
static __attribute__((noinline)) long home_of_thread(void)
{
	return homes[me];
}

static void use_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	SAME(sched_setaffinity(0, sizeof(set), &set), 0);
	homes[cpu] = fiber_test_convert();
	me = cpu;
}

static void goes_home(void *unused)
{
	(void)unused;
	for (;;) {
		__atomic_add_fetch(&visits, 1, __ATOMIC_SEQ_CST);
		fiber_switch(home_of_thread());
	}
}

/* Switch to the next fiber, and continue in the other thread. */
static void is_left(void *unused)
{
	(void)unused;
	for (unsigned long n = 0;; n++) {
		SAME(home_of_thread(), homes[0]);
		SAME(image_round(0, n, next | FIRST), 0);
		SAME(home_of_thread(), homes[1]);
		SAME(fiber_switch(homes[1]), 0);
	}
}

/* Must not be inlined, for the same reason as home_of_thread(). */
static __attribute__((noinline)) long role_of_leaving(void)
{
	return me ? LEAVING : 0;
}

/* The second thread leaves this fiber, while the first one switches to it. */
static void is_tried(void *unused)
{
	(void)unused;
	for (;;) {
		__atomic_add_fetch(&visits, 1, __ATOMIC_SEQ_CST);
		fiber_switch(home_of_thread() | role_of_leaving());
	}
}

static void *other(void *role)
{
	use_cpu(1);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		results[1] =
			image_round(2, (unsigned long)i, shared | (long)role);
		pthread_barrier_wait(&both);
	}
	return NULL;
}

/* Make the table larger before each round, from one other fiber to OTHERS. */
static void more_fibers(int round)
{
	static uint64_t state;
	static char *stack;
	static long count;
	unsigned int bits = (unsigned int)round * OTHERS_BITS / (ROUNDS - 1);
	long wanted = 1l << bits;

	if (!stack) {
		stack = fiber_test_memory(STACK);
		state = (uint64_t)time(NULL) << 32 ^ (uint64_t)getpid();
	}
	wanted += (long)(image_random(&state) % (uint64_t)wanted);
	if (wanted > OTHERS || bits == OTHERS_BITS)
		wanted = OTHERS;
	/* No check is counted here, because the number of calls varies. */
	for (; count < wanted; count++)
		if (fiber_create(stack, STACK, goes_home, NULL) < 0)
			fiber_test_failed(__FILE__, __LINE__, "fiber_create");
}

/* role: of the second thread when it switches to the shared fiber. */
static pthread_t begin(void (*entry)(void *), long role)
{
	SAME(fibers_begin(), 0);
	pthread_barrier_init(&both, NULL, 2);
	use_cpu(0);
	shared = fiber_test_fiber(entry, NULL);
	next = fiber_test_fiber(goes_home, NULL);
	return fiber_test_thread(other, (void *)role);
}

static void claim(void)
{
	pthread_t thread = begin(goes_home, SECOND);

	for (int i = 0; i < ROUNDS; i++) {
		more_fibers(i);
		pthread_barrier_wait(&both);
		results[0] = image_round(1, (unsigned long)i, shared | FIRST);
		pthread_barrier_wait(&both);
		CHECK(results[0] == 0 || results[0] == -EBUSY);
		SAME(results[0] + results[1], -EBUSY);
		SAME(visits, i + 1);
	}
	pthread_join(thread, NULL);
}

static void release(void)
{
	pthread_t thread = begin(is_left, SECOND);

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		SAME(fiber_switch(shared), 0);
		pthread_barrier_wait(&both);
		SAME(results[1], 0);
		SAME(visits, i + 1);
	}
	pthread_join(thread, NULL);
}

/* Whether or not the switch succeeds, the fiber has no owner afterwards. */
static void tried(void)
{
	pthread_t thread = begin(is_tried, 0);
	int expected = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		results[0] = image_round(1, (unsigned long)i, shared | FIRST);
		pthread_barrier_wait(&both);
		CHECK(results[0] == 0 || results[0] == -EBUSY);
		SAME(results[1], 0);
		SAME(fiber_switch(shared), 0);
		expected += results[0] ? 2 : 3;
		SAME(visits, expected);
	}
	pthread_join(thread, NULL);
}

/* Either the fiber is deleted, or the second thread gets it. */
static void deleted(void)
{
	pthread_t thread = begin(goes_home, SECOND);

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		results[0] = fiber_delete(shared | FIRST);
		pthread_barrier_wait(&both);
		CHECK(results[0] == 0 || results[0] == -EBUSY);
		CHECK(!results[0] == !!results[1]);
		SAME(fiber_delete(shared), results[0] ? 0 : -ESRCH);
		shared = fiber_test_fiber(goes_home, NULL);
	}
	pthread_join(thread, NULL);
}

/* A fiber that the second thread runs or leaves, and one in which a thread has ended. */
static long elsewhere, ended_in, home_of_ended, tries;

static void stays(void *unused)
{
	(void)unused;
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	fiber_switch(home_of_thread());
}

static void *in_two_fibers(void *unused)
{
	(void)unused;
	use_cpu(1);
	SAME(fiber_switch(elsewhere), 0);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return NULL;
}

static void ends(void *unused)
{
	(void)unused;
	syscall(SYS_exit, 0);
}

static void *ends_in_fiber(void *unused)
{
	(void)unused;
	home_of_ended = fiber_test_convert();
	fiber_switch(ended_in);
	return NULL;
}

static void try_all(long own, bool runs)
{
	SAME(fiber_switch(own | COUNTED), -EBUSY);
	if (runs)
		SAME(fiber_switch(elsewhere | COUNTED), -EBUSY);
	SAME(fiber_switch(homes[1] | COUNTED), -EACCES);
	SAME(fiber_switch(ended_in | COUNTED), -EOWNERDEAD);
	SAME(fiber_switch(home_of_ended | COUNTED), -EOWNERDEAD);
	SAME(fiber_switch(INT_MAX | COUNTED), -ESRCH);
}

static void tries_all(void *unused)
{
	(void)unused;
	for (bool runs = true;; runs = false) {
		try_all(tries, runs);
		SAME(fiber_switch(home_of_thread() | COUNTED), 0);
	}
}

/* A switch that is refused must not wait, from any fiber to any fiber. */
static void refused(void)
{
	pthread_t thread, ended;

	SAME(fibers_begin(), 0);
	pthread_barrier_init(&both, NULL, 2);
	use_cpu(0);
	elsewhere = fiber_test_fiber(stays, NULL);
	ended_in = fiber_test_fiber(ends, NULL);
	tries = fiber_test_fiber(tries_all, NULL);
	thread = fiber_test_thread(in_two_fibers, NULL);
	pthread_barrier_wait(&both);
	/* No fiber is created from now on, because that removes ended threads. */
	ended = fiber_test_thread(ends_in_fiber, NULL);
	pthread_join(ended, NULL);
	for (int runs = 1; runs >= 0; runs--) {
		try_all(homes[0], runs);
		SAME(fiber_switch(tries | COUNTED), 0);
		pthread_barrier_wait(&both);
		if (runs)
			pthread_barrier_wait(&both);
	}
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "claim", claim },	{ "release", release },
		{ "tried", tried },	{ "deleted", deleted },
		{ "refused", refused }, { NULL, NULL }
	};

	return fiber_test_main(argc, argv, tests);
}
