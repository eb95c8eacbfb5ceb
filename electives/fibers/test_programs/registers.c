// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Check every register before and after a switch: general, xmm, ymm, x87,
 * mxcsr.
 */
#include "image.h"

#include <semaphore.h>
#include <sys/time.h>
#include <time.h>

#define FIBERS 5
#define THREADS 4
#define ROUNDS 2000
/* How often two threads end, and a fiber is deleted; others take their places. */
#define ENDS 16
/* Another thread runs after this many rounds, on average, because a change is slow. */
#define STAYS 8

/* What a thread does next. */
enum job { RUN, CREATE, END };

/* The threads run in turn. The first one is the thread of the process. */
static struct worker {
	pthread_t thread;
	sem_t begin, done;
	enum job job;
	long home;
} workers[THREADS];

static long fibers[FIBERS];
static void *stacks[FIBERS];
/* The fiber that the next job creates, the number of the round, and the switches left in it. */
static unsigned long to_create, round_number;
static int switches;
static uint64_t drawing;
static __thread struct worker *me;
static volatile double spoilt;

static unsigned long draw(unsigned long limit)
{
	return image_random(&drawing) % limit;
}

/*
 * Must not be inlined, because after a switch the fiber may run in another
 * thread.
 */
static __attribute__((noinline)) long home_of_thread(void)
{
	return me->home;
}

/* Continue with any other fiber; at the end of a round, with the first fiber of the thread. */
static long fiber_after(unsigned long fiber)
{
	if (!--switches)
		return home_of_thread();
	return fibers[(fiber + 1 + draw(FIBERS - 1)) % FIBERS];
}

static void goes_round(void *argument)
{
	unsigned long fiber = (unsigned long)argument;

	/* So each switch counts one check, also the first one to this fiber. */
	CHECK(fiber < FIBERS);
	for (unsigned long n = 0;; n++)
		SAME(image_round(fiber, n, fiber_after(fiber)), 0);
}

static void block_timer(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(how, &set, NULL);
}

/* Only the thread that runs may receive the signal of the timer. */
static void do_job(void)
{
	block_timer(SIG_UNBLOCK);
	if (me->job == CREATE) {
		fibers[to_create] = fiber_create(stacks[to_create], STACK,
						 goes_round, (void *)to_create);
		CHECK(fibers[to_create] > 0);
	} else if (me->job == RUN) {
		switches = FIBERS;
		SAME(image_round(FIBERS + (unsigned long)(me - workers),
				 round_number, fibers[draw(FIBERS)]),
		     0);
	}
	block_timer(SIG_BLOCK);
}

static void *works(void *argument)
{
	enum job job;

	me = argument;
	me->home = fiber_test_convert();
	do {
		sem_wait(&me->begin);
		job = me->job;
		do_job();
		sem_post(&me->done);
	} while (job != END);
	return NULL;
}

static void begin_thread(struct worker *worker)
{
	worker->thread = fiber_test_thread(works, worker);
}

/* Let one thread do a job, while all others wait. */
static void let(struct worker *worker, enum job job)
{
	worker->job = job;
	if (worker == workers) {
		do_job();
		return;
	}
	sem_post(&worker->begin);
	sem_wait(&worker->done);
}

static struct worker *any_worker(void)
{
	return &workers[draw(THREADS)];
}

static void end_one_thread(void)
{
	struct worker *worker = &workers[1 + draw(THREADS - 1)];

	let(worker, END);
	pthread_join(worker->thread, NULL);
	begin_thread(worker);
}

/*
 * Each fiber continues in a drawn thread: in the one that has saved its
 * registers, or in another one. The thread that has saved or created the fiber
 * may have ended.
 */
static void go_round(unsigned long rounds)
{
	struct worker *worker = workers;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	drawing = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid();
	block_timer(SIG_BLOCK);
	SAME(fibers_begin(), 0);
	me = workers;
	me->home = fiber_test_convert();
	for (unsigned long i = 0; i < THREADS; i++) {
		sem_init(&workers[i].begin, 0, 0);
		sem_init(&workers[i].done, 0, 0);
		if (i)
			begin_thread(&workers[i]);
	}
	for (to_create = 0; to_create < FIBERS; to_create++) {
		stacks[to_create] = fiber_test_memory(STACK);
		let(any_worker(), CREATE);
	}
	for (round_number = 0; round_number < rounds; round_number++) {
		if (!draw(STAYS))
			worker = any_worker();
		let(worker, RUN);
		if (round_number % (rounds / ENDS))
			continue;
		end_one_thread();
		to_create = draw(FIBERS);
		SAME(fiber_delete(fibers[to_create]), 0);
		let(any_worker(), CREATE);
		end_one_thread();
	}
}

static void rounds(void)
{
	go_round(ROUNDS);
}

/*
 * Do fewer rounds if the module's variant moves the thread to another CPU in
 * each switch, because moving is slow.
 */
static void few_rounds(void)
{
	go_round(ROUNDS / 50);
}

/* This signal handler runs on the stack of the interrupted fiber. */
static void on_timer(int signal)
{
	(void)signal;
	spoilt = spoilt * 1.5 + 1;
}

static void with_a_timer(void)
{
	struct sigaction action = { .sa_handler = on_timer,
				    .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	rounds();
}

static void four_at_once(void)
{
	for (int i = 0; i < 4; i++)
		if (!fork()) {
			with_a_timer();
			_exit(0);
		}
	for (int i = 0, status; i < 4; i++) {
		CHECK(wait(&status) > 0);
		SAME(status, 0);
	}
}

/* Prove that the machine has wide registers. */
static void have_avx(void)
{
	CHECK(__builtin_cpu_supports("avx"));
}

/* A new fiber inherits its creator's rounding mode. */
static uint32_t found;

static void reads_mxcsr(void *unused)
{
	(void)unused;
	found = __builtin_ia32_stmxcsr();
	fiber_switch(home_of_thread());
}

static void *begins_it(void *fiber)
{
	me = &workers[1];
	me->home = fiber_test_convert();
	SAME(fiber_switch((long)fiber), 0);
	return NULL;
}

/* The fiber begins in the thread that has created it, or in another one. */
static void rounding_is_inherited(void)
{
	SAME(fibers_begin(), 0);
	me = workers;
	me->home = fiber_test_convert();
	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		long fiber;

		__builtin_ia32_ldmxcsr(0x7f80);
		fiber = fiber_test_fiber(reads_mxcsr, NULL);
		__builtin_ia32_ldmxcsr(0x1f80);
		if (elsewhere)
			pthread_join(
				fiber_test_thread(begins_it, (void *)fiber),
				NULL);
		else
			SAME(fiber_switch(fiber), 0);
		SAME(found, 0x7f80);
		SAME(__builtin_ia32_stmxcsr(), 0x1f80);
	}
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "rounds", rounds },	  { "timer", with_a_timer },
		{ "four", four_at_once }, { "rounding", rounding_is_inherited },
		{ NULL, NULL },
	};
	static const struct test_function asked[] = { { "avx", have_avx },
						      { "few", few_rounds },
						      { NULL, NULL } };

	if (argc > 1 && (!strcmp(argv[1], "avx") || !strcmp(argv[1], "few")))
		return fiber_test_main(argc, argv, asked);
	return fiber_test_main(argc, argv, tests);
}
