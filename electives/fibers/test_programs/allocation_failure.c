// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Each allocation of each call fails in turn, on a kernel with failslab. The
 * call says ENOMEM, or does without; and then the same call works.
 */
#include "test_program.h"

#include "fault_injection.h"

#define MOST_ALLOCATIONS 50

static long home, key;
static void *stack;

static void never(void *unused)
{
	(void)unused;
}

static long opens(void)
{
	return fibers_begin() ? -errno : 0;
}

static long creates(void)
{
	return fiber_create(stack, STACK, never, NULL);
}

static long keeps(void)
{
	return fiber_local_set(key, 1);
}

/* How many of its allocations can fail: none is one that was not seen. */
static int each_fails(long (*call)(void))
{
	for (unsigned int k = 1; k < MOST_ALLOCATIONS; k++) {
		long said;

		fault_arm(k);
		said = call();
		if (fault_disarm())
			return (int)k - 1;
		CHECK(said >= 0 || said == -ENOMEM);
		if (said >= 0 && call == opens)
			close(fibers_file);
	}
	CHECK(!"it allocates without end");
	return 0;
}

static void all_calls(void)
{
	/* Here, not in main: it is about the thread that asks for it. */
	fault_begin();
	CHECK(each_fails(opens) > 0);
	/* It is there: a page fault in want of memory is not ours. */
	stack = memset(fiber_test_memory(STACK), 1, STACK);
	CHECK(each_fails(fiber_convert) > 0);
	CHECK(each_fails(creates) > 0);
	key = fiber_local_alloc();
	CHECK(each_fails(keeps) > 0);
	SAME(fiber_convert(), -EEXIST);
	home = creates();
	CHECK(home > 0);
	SAME(fiber_delete(home), 0);
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = { { "all", all_calls },
						      { NULL, NULL } };

	return fiber_test_main(argc, argv, tests);
}
