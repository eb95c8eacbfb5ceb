// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Make each allocation of each call fail in turn, on a kernel with failslab.
 * The call must return -ENOMEM or work without the memory; then the same call
 * must succeed.
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

static void keeps_value(void)
{
	uint64_t value = 0;

	SAME(fiber_local_get(key, &value), 0);
	SAME(value, 1);
}

/*
 * Repeat the call and make its first, second, ... allocation fail. Return the
 * number of its allocations.
 */
static int each_fails(long (*call)(void))
{
	for (unsigned int k = 1; k < MOST_ALLOCATIONS; k++) {
		long said;

		fault_arm(k);
		said = call();
		if (fault_disarm())
			return (int)k - 1;
		CHECK(said >= 0 || said == -ENOMEM);
		if (said >= 0 && call == keeps)
			keeps_value();
		if (said >= 0 && call == opens)
			close(fibers_file);
	}
	CHECK(!"it allocates without end");
	return 0;
}

/* A call that needs memory must end if there is none, also at a second try. */
static void without_memory(long (*call)(void))
{
	long said;

	fault_this_process(true);
	said = call();
	fault_this_process(false);
	SAME(said, -ENOMEM);
}

static void all_calls(void)
{
	/*
	 * Begin the fault injection here and not in main(), because it affects
	 * only the thread that calls this function.
	 */
	fault_begin();
	CHECK(each_fails(opens) > 0);
	/*
	 * Touch the stack now, so that page faults do not fail during the test.
	 */
	stack = memset(fiber_test_memory(STACK), 1, STACK);
	CHECK(each_fails(fiber_convert) > 0);
	CHECK(each_fails(creates) > 0);
	key = fiber_local_alloc();
	CHECK(each_fails(keeps) > 0);
	fault_random("100");
	without_memory(creates);
	for (int i = 0; i < FIBERS_KEYS / 2; i++)
		key = fiber_local_alloc();
	without_memory(keeps);
	fault_random("0");
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
