// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * stress THREADS FIBERS MILLISECONDS: all threads switch between all fibers at
 * random. A fiber counts its rounds in memory and keeps the count in every
 * register: a fiber that runs twice at once, or with registers of an earlier
 * round, finds different values.
 *
 * stress kill TIMES: start such a process and kill it at a random moment, TIMES
 * times. The caller checks for leftovers.
 */
#include "image.h"

#include <time.h>

#define MOST 10000

static struct state {
	unsigned long count;
	int inside;
	long id;
} states[MOST];

static long threads, fibers;
static volatile bool stop;
static unsigned long switches, refused;
static __thread long my_home;

/* Must not be inlined, because another thread may continue this fiber. */
static __attribute__((noinline)) long home_of_thread(void)
{
	return my_home;
}

static uint32_t draw(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static void enter(struct state *me)
{
	if (__atomic_exchange_n(&me->inside, 1, __ATOMIC_SEQ_CST)) {
		printf("two threads are in fiber %ld\n", me->id);
		_exit(1);
	}
}

static void leave(struct state *me)
{
	if (!__atomic_exchange_n(&me->inside, 0, __ATOMIC_SEQ_CST)) {
		printf("two threads were in fiber %ld\n", me->id);
		_exit(1);
	}
}

static void body(void *argument)
{
	struct state *me = argument;
	uint32_t seed = (uint32_t)(me - states) * 2654435761U + 1;

	enter(me);
	for (;;) {
		long to = stop ? home_of_thread() :
				 states[draw(&seed) % (uint32_t)fibers].id;
		long said;

		me->count++;
		leave(me);
		said = image_round((unsigned long)(me - states), me->count, to);
		enter(me);
		__atomic_fetch_add(said ? &refused : &switches, 1,
				   __ATOMIC_RELAXED);
		if (said != 0 && said != -EBUSY)
			fiber_test_differs("stress", __LINE__, "switch", said,
					   0);
	}
}

static void *works(void *argument)
{
	uint32_t seed = (uint32_t)(uintptr_t)argument * 747796405U + 1;

	my_home = fiber_test_convert();
	while (!stop) {
		long said = image_round(MOST + (uintptr_t)argument, seed,
					states[draw(&seed) % fibers].id);

		CHECK(said == 0 || said == -EBUSY);
	}
	return NULL;
}

static void stress(long milliseconds)
{
	struct timespec time = { milliseconds / 1000,
				 milliseconds % 1000 * 1000000 };
	pthread_t workers[64];

	SAME(fibers_begin(), 0);
	fiber_test_convert();
	CHECK(threads <= 64 && fibers <= MOST);
	for (long i = 0; i < fibers; i++)
		states[i].id = fiber_test_fiber(body, &states[i]);
	for (long i = 0; i < threads; i++)
		workers[i] = fiber_test_thread(works, (void *)(i + 1));
	nanosleep(&time, NULL);
	stop = true;
	for (long i = 0; i < threads; i++)
		pthread_join(workers[i], NULL);
	CHECK(switches > 0);
	printf("%lu switches, %lu refused\n", switches, refused);
}

static void kill_loop(long times)
{
	uint32_t seed = 1;

	threads = 3;
	fibers = 50;
	while (times--) {
		int status;
		pid_t child = fork();

		if (!child) {
			fiber_test_record =
				NULL; /* seed for the moment of the kill */
			stress(100000);
			_exit(0);
		}
		CHECK(child > 0);
		usleep(draw(&seed) % 20000);
		kill(child, SIGKILL);
		SAME(waitpid(child, &status, 0), child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 3 && !strcmp(argv[1], "kill")) {
		kill_loop(atol(argv[2]));
		return fiber_test_end();
	}
	if (argc != 4) {
		fputs("usage: stress THREADS FIBERS MS, or stress kill TIMES\n",
		      stderr);
		return 2;
	}
	threads = atol(argv[1]);
	fibers = atol(argv[2]);
	stress(atol(argv[3]));
	return fiber_test_end();
}
