// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test threads with registers of different sizes, as with AMX. The module's
 * variant mixed_fpu_state.c gives a thread named "wide" larger registers.
 */
#include "test_program.h"

#include <sys/prctl.h>

static long home, other;
static int visits;

static void counts(void *unused)
{
	(void)unused;
	for (;;) {
		visits++;
		SAME(fiber_switch(home), 0);
	}
}

static void *wide(void *unused)
{
	(void)unused;
	SAME(prctl(PR_SET_NAME, "wide"), 0);
	SAME(fiber_convert(), -EOPNOTSUPP);
	SAME(fiber_switch(other), -EPERM);
	return NULL;
}

/* This thread converts to a fiber before its registers become wide. */
static void *widens(void *unused)
{
	long mine = fiber_test_convert();

	(void)unused;
	SAME(prctl(PR_SET_NAME, "wide"), 0);
	SAME(fiber_switch(other), -EOPNOTSUPP);
	SAME(fiber_create(fiber_test_memory(STACK), STACK, counts, NULL),
	     -EOPNOTSUPP);
	SAME(fiber_switch(mine), -EOPNOTSUPP);
	return NULL;
}

static void both(void)
{
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(counts, NULL);
	pthread_join(fiber_test_thread(wide, NULL), NULL);
	pthread_join(fiber_test_thread(widens, NULL), NULL);
	SAME(visits, 0);
	SAME(fiber_switch(other), 0);
	SAME(visits, 1);
}

/* All threads of a process may have wide registers. */
static void all_wide(void)
{
	SAME(prctl(PR_SET_NAME, "wide"), 0);
	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	other = fiber_test_fiber(counts, NULL);
	SAME(fiber_switch(other), 0);
	SAME(visits, 1);
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "both", both },
		{ "all", all_wide },
		{ NULL, NULL },
	};

	return fiber_test_main(argc, argv, tests);
}
