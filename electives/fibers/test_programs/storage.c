// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test fiber-local storage: 1,024 keys, for which each fiber has its own
 * values.
 */
#include "test_program.h"

#include <limits.h>
#include <time.h>

#define FIBERS 600

static long home, key, high;

static uint64_t get(long wanted)
{
	uint64_t value = 99;

	SAME(fiber_local_get(wanted, &value), 0);
	return value;
}

/* Fill blocks of values. Others get their memory when this fiber is deleted. */
static void fills(void *unused)
{
	(void)unused;
	for (int i = 0; i < FIBERS_KEYS; i++)
		SAME(fiber_local_set(i, UINT64_MAX), 0);
	SAME(fiber_switch(home), 0);
}

static void keeps(void *argument)
{
	uint64_t value = (uintptr_t)argument;

	SAME(get(key), 0);
	SAME(get(high), 0);
	SAME(fiber_local_set(key, value), 0);
	SAME(fiber_local_set(high, ~value), 0);
	/* Keys beside them, whose values were never set. */
	SAME(get(key + 1), 0);
	SAME(get(high - 1), 0);
	SAME(fiber_switch(home), 0);
	SAME(get(key), value);
	SAME(get(high), ~value);
	SAME(fiber_switch(home), 0);
	/* The key was freed, and allocated again. */
	SAME(get(key), 0);
	SAME(get(high), ~value);
	SAME(fiber_switch(home), 0);
}

static pthread_barrier_t both;
/* The first fiber of each of two threads, and fibers that other threads have created. */
static long firsts[2], created[2];
static __thread int my_number;

/*
 * The state of the fibers when a key is freed, as each thread knows it. A bit
 * for each thread: the created fiber runs, and the first one waits. FREES: the
 * second thread frees the key. EXCHANGED: each thread has the other's fiber.
 */
static int states[2];
#define FREES 4
#define EXCHANGED 8
#define STATES 16

/* Must not be inlined, because a fiber may continue in another thread. */
static __attribute__((noinline)) int number_of_thread(void)
{
	return my_number;
}

static bool created_runs(void)
{
	return states[number_of_thread()] >> number_of_thread() & 1;
}

/* Both threads run until one of them has freed the key. */
static void freed_meanwhile(void)
{
	int number = number_of_thread();

	pthread_barrier_wait(&both);
	if (!!(states[number] & FREES) == number) {
		SAME(fiber_local_free(key), 0);
		SAME(fiber_local_alloc(), key);
	}
	pthread_barrier_wait(&both);
	SAME(get(key), 0);
}

static void waits_or_runs(void *unused)
{
	(void)unused;
	for (;;) {
		SAME(fiber_local_set(key, 5), 0);
		SAME(fiber_switch(firsts[number_of_thread()]), 0);
		if (created_runs())
			freed_meanwhile();
		SAME(get(key), 0);
		SAME(fiber_switch(firsts[number_of_thread()]), 0);
	}
}

static void in_all_states(int number)
{
	my_number = number;
	for (int state = 0; state < STATES; state++) {
		long fiber = created[number ^ !!(state & EXCHANGED)];

		states[number] = state;
		SAME(fiber_local_set(key, 3), 0);
		SAME(fiber_switch(fiber), 0);
		if (!created_runs())
			freed_meanwhile();
		SAME(fiber_switch(fiber), 0);
		SAME(get(key), 0);
		pthread_barrier_wait(&both);
	}
}

static void *second_thread(void *unused)
{
	(void)unused;
	firsts[1] = fiber_test_convert();
	in_all_states(1);
	return NULL;
}

static void *creates_and_ends(void *unused)
{
	(void)unused;
	fiber_test_convert();
	created[1] = fiber_test_fiber(waits_or_runs, NULL);
	return NULL;
}

/*
 * Freeing a key clears it in all fibers: first and created ones that run or
 * wait, in the thread that frees the key and in another one.
 */
static void freed_in_all_states(void)
{
	pthread_t thread;

	pthread_barrier_init(&both, NULL, 2);
	firsts[0] = home;
	created[0] = fiber_test_fiber(waits_or_runs, NULL);
	pthread_join(fiber_test_thread(creates_and_ends, NULL), NULL);
	thread = fiber_test_thread(second_thread, NULL);
	in_all_states(0);
	pthread_join(thread, NULL);
}

/* Keys per block of the module, which allocates the values in blocks. */
#define BLOCK 64

static bool freed[FIBERS_KEYS];

static uint64_t value_of(int wanted, uint64_t factor)
{
	return freed[wanted] ? 0 : (uint64_t)wanted * factor + 1;
}

static void set_all(uint64_t factor)
{
	for (int i = 0; i < FIBERS_KEYS; i++)
		SAME(fiber_local_set(i, value_of(i, factor)), 0);
}

static void check_all(uint64_t factor)
{
	for (int i = 0; i < FIBERS_KEYS; i++)
		SAME(get(i), value_of(i, factor));
}

static void has_all(void *unused)
{
	(void)unused;
	set_all(11);
	SAME(fiber_switch(home), 0);
	check_all(11);
	SAME(fiber_switch(home), 0);
}

/* Free a key that has a value in two fibers. The keys beside it keep theirs. */
static void free_one(int wanted)
{
	SAME(fiber_local_free(wanted), 0);
	freed[wanted] = true;
	SAME(fiber_local_alloc(), wanted);
	for (int i = wanted - 1; i <= wanted + 1; i++)
		if (i >= 0 && i < FIBERS_KEYS)
			SAME(get(i), value_of(i, 7));
}

/* Free the first and the last key of each block, and one drawn key between. */
static void freed_in_each_block(void)
{
	long other = fiber_test_fiber(has_all, NULL);

	set_all(7);
	SAME(fiber_switch(other), 0);
	for (int i = 0; i < FIBERS_KEYS; i += BLOCK) {
		free_one(i);
		free_one(i + 1 + (int)(random() % (BLOCK - 2)));
		free_one(i + BLOCK - 1);
	}
	check_all(7);
	SAME(fiber_switch(other), 0);
}

/* The id of the first fiber of a process that opens the device after this. */
static void set_first_id(long id)
{
#ifdef FIBERS_USERSPACE
	(void)id;
#else
	FILE *file = fopen("/sys/module/fibers/parameters/first_id", "w");

	CHECK(file);
	CHECK(fprintf(file, "%ld\n", id) > 0);
	CHECK(!fclose(file));
#endif
}

/*
 * Most memory of the kernel for the values of a fiber in two blocks of 512
 * bytes. An array of all values has 8 KB.
 */
#define MOST_KB_OF_TWO_BLOCKS 4

static void own_values(void)
{
	long fibers[FIBERS], before, kb_of_two_blocks, block;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	srandom((unsigned int)now.tv_nsec);
	/* An id can have any value up to INT_MAX. */
	set_first_id(INT_MAX / 2 + random() % (INT_MAX / 2));
	SAME(fibers_begin(), 0);
	set_first_id(1);
	home = fiber_test_convert();
	for (int i = 0; i < FIBERS_KEYS; i++)
		SAME(fiber_local_alloc(), i);
	SAME(fiber_local_alloc(), -ENOSPC);
	fibers[0] = fiber_test_fiber(fills, NULL);
	SAME(fiber_switch(fibers[0]), 0);
	SAME(fiber_delete(fibers[0]), 0);
	/* Two keys of different blocks, which are not the last and the first of them. */
	block = random() % (FIBERS_KEYS / BLOCK - 1);
	key = block * BLOCK + random() % (BLOCK - 1);
	block += 1 + random() % (FIBERS_KEYS / BLOCK - 1 - block);
	high = block * BLOCK + 1 + random() % (BLOCK - 1);
	for (long i = 0; i < FIBERS; i++)
		fibers[i] = fiber_test_fiber(keeps, (void *)(i + 1000));
	before = fiber_test_kernel_memory();
	for (int round = 0; round < 3; round++) {
		if (round == 1) {
			kb_of_two_blocks =
				(fiber_test_kernel_memory() - before) / FIBERS;
			CHECK(kb_of_two_blocks <= MOST_KB_OF_TWO_BLOCKS);
		}
		if (round == 2) {
			SAME(fiber_local_free(key), 0);
			SAME(fiber_local_alloc(), key);
		}
		for (int i = 0; i < FIBERS; i++)
			SAME(fiber_switch(fibers[i]), 0);
		SAME(get(key), 0);
	}
	for (int i = 0; i < FIBERS_KEYS; i++) {
		SAME(fiber_local_set(i, (uint64_t)i * 7), 0);
		SAME(get(i), i * 7);
	}
	freed_in_all_states();
	freed_in_each_block();
}

/* All fibers that a process can have, except the first one. */
#define MOST (FIBERS_MOST - 1)
#define SMALL 4096

static uint64_t read_again;

static void sets_and_reads(void *unused)
{
	(void)unused;
	SAME(fiber_local_set(key, 1), 0);
	SAME(fiber_switch(home), 0);
	SAME(fiber_local_get(key, &read_again), 0);
	SAME(fiber_switch(home), 0);
}

/* A key that is freed loses its value in each fiber of as many as possible. */
static void freed_in_most(void)
{
	char *stacks = fiber_test_memory((size_t)MOST * SMALL);
	static long fibers[MOST];

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	key = fiber_local_alloc();
	SAME(key, 0);
	for (long i = 0; i < MOST; i++) {
		fibers[i] = fiber_create(stacks + i * SMALL, SMALL,
					 sets_and_reads, NULL);
		CHECK(fibers[i] > 0);
		SAME(fiber_switch(fibers[i]), 0);
	}
	SAME(fiber_local_free(key), 0);
	SAME(fiber_local_alloc(), key);
	for (long i = 0; i < MOST; i++) {
		SAME(fiber_switch(fibers[i]), 0);
		SAME(read_again, 0);
	}
}

static void errors(void)
{
	uint64_t value;

	SAME(fibers_begin(), 0);
	key = fiber_local_alloc();
	SAME(key, 0);
	SAME(fiber_local_get(key, &value), -EPERM);
	SAME(fiber_local_set(key, 1), -EPERM);
	home = fiber_test_convert();
	SAME(get(key), 0);
	SAME(fiber_local_set(FIBERS_KEYS, 1), -EINVAL);
	SAME(fiber_local_set(-1, 1), -EINVAL);
	SAME(fiber_local_free(-1), -EINVAL);
	for (int bit = 0; bit < 64; bit++) { /* no other key was allocated */
		long wrong = key ^ (long)(1ul << bit);

		SAME(fiber_local_get(wrong, &value), -EINVAL);
		SAME(fiber_local_set(wrong, 1), -EINVAL);
		SAME(fiber_local_free(wrong), -EINVAL);
	}
	SAME(fiber_local_free(key), 0);
	SAME(fiber_local_free(key), -EINVAL);
#ifndef FIBERS_USERSPACE
	SAME(fibers_ask(FIBERS_LOCAL_GET, 8), -EFAULT);
	SAME(fibers_ask(FIBERS_LOCAL_SET, 8), -EFAULT);
#endif
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "values", own_values },
		{ "most", freed_in_most },
		{ "errors", errors },
		{ NULL, NULL },
	};

	return fiber_test_main(argc, argv, tests);
}
