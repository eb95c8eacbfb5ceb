// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Check every register before and after a switch: general, xmm, ymm, x87,
 * mxcsr.
 */
#include "image.h"

#include <sys/time.h>

#define FIBERS 5
#define ROUNDS 2000

static long home, fibers[FIBERS];
static volatile double spoilt;

static void goes_round(void *argument)
{
	unsigned long fiber = (unsigned long)argument;

	for (unsigned long n = 0;; n++) {
		long next = fiber + 1 < FIBERS ? fibers[fiber + 1] : home;

		SAME(image_round(fiber, n, next), 0);
	}
}

static void go_round(unsigned long rounds)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	for (long i = 0; i < FIBERS; i++)
		fibers[i] = fiber_test_fiber(goes_round, (void *)i);
	for (unsigned long n = 0; n < rounds; n++)
		SAME(image_round(99, n, fibers[0]), 0);
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
	fiber_switch(home);
}

static void rounding_is_inherited(void)
{
	long fiber;

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	__builtin_ia32_ldmxcsr(0x7f80);
	fiber = fiber_test_fiber(reads_mxcsr, NULL);
	__builtin_ia32_ldmxcsr(0x1f80);
	SAME(fiber_switch(fiber), 0);
	SAME(found, 0x7f80);
	SAME(__builtin_ia32_stmxcsr(), 0x1f80);
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
