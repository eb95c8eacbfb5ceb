// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test the maximum number of fibers, on stacks of 4 KB, many threads that end,
 * and the listing.
 */
#include "test_program.h"

/* The thread's first fiber counts, too. */
#define MANY (FIBERS_MOST - 1)
#define SMALL 4096

static long home, ids[MANY];
static unsigned long visits;

static void counts(void *argument)
{
	volatile char deep[1024] = { 0 };

	for (unsigned long round = 1;; round++) {
		deep[round] = 1;
		visits += round * (unsigned long)argument;
		SAME(fiber_switch(home), 0);
	}
}

static long lines_of(const char *path)
{
	FILE *file = fopen(path, "r");
	long lines = 0;
	int byte;

	CHECK(file);
	while ((byte = getc(file)) != EOF)
		lines += byte == '\n';
	fclose(file);
	return lines;
}

static void as_many_as_possible(void)
{
	char *stacks = fiber_test_memory((size_t)MANY * SMALL);
	char path[64];

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	for (long i = 0; i < MANY; i++) {
		ids[i] = fiber_create(stacks + i * SMALL, SMALL, counts,
				      (void *)1);
		CHECK(ids[i] > 0);
	}
	for (int round = 1; round <= 2; round++)
		for (int i = 0; i < MANY; i++)
			SAME(fiber_switch(ids[i]), 0);
	SAME(visits, 3 * MANY);
	/* The listing also has a line for the first fiber, and a heading. */
	SAME(lines_of("/proc/fibers"), MANY + 2);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fibers_file);
	CHECK(lines_of(path) >= MANY + 2);
	for (int i = 0; i < MANY; i += 2)
		SAME(fiber_delete(ids[i]), 0);
	SAME(lines_of("/proc/fibers"), MANY / 2 + 2);
	SAME(fiber_switch(ids[1]), 0);
	SAME(fiber_switch(ids[0]), -ESRCH);
}

/*
 * How much memory of the kernel may be left: a tenth of 1 KB for each fiber,
 * and 1 MB of the kernel's own. RCU frees a block some time after the module
 * has passed it to RCU.
 */
#define MOST_KB (MANY / 10 + 1024)
#define SECONDS 20

/* All memory is free again after the end of the process. */
static void many_end(void)
{
	long before = fiber_test_kernel_memory(), more = 0;

	SAME(fiber_test_child(as_many_as_possible), 0);
	for (int i = 0; i < 10 * SECONDS; i++) {
		more = fiber_test_kernel_memory() - before;
		if (more <= MOST_KB)
			break;
		usleep(100000);
	}
	if (more > MOST_KB) {
		printf("%ld KB are not freed after the end of a process with %d fibers\n",
		       more, MANY);
		_exit(1);
	}
}

/* All fibers have the same stack, because none of them ever runs. */
static void too_many(void)
{
	char *stack = fiber_test_memory(SMALL);

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	for (long i = 1; i < FIBERS_MOST; i++)
		CHECK(fiber_create(stack, SMALL, counts, NULL) > 0);
	SAME(fiber_create(stack, SMALL, counts, NULL), -ENOSPC);
	SAME(fiber_delete(2), 0);
	CHECK(fiber_create(stack, SMALL, counts, NULL) > 0);
}

static void *converts(void *unused)
{
	(void)unused;
	fiber_test_convert();
	return NULL;
}

/* Room for ROOM fibers is left while ENDED threads end one after the other. */
#define ROOM 4
#define ENDED 12

static void ended_threads(void)
{
	char *stack = fiber_test_memory(SMALL);

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	for (long i = ROOM + 1; i < FIBERS_MOST; i++)
		CHECK(fiber_create(stack, SMALL, counts, NULL) > 0);
	for (int i = 0; i < ENDED; i++)
		pthread_join(fiber_test_thread(converts, NULL), NULL);
}

/* Linux gives numbers from 300 on when it has given the last one. */
#define LEAST_NUMBER 300
#define MOST_NUMBER 500

/* The number and the first fiber of a thread that has ended. */
static struct ended {
	pid_t number;
	long fiber;
} ended;

/* Convert one thread, and the next thread that has the same number. */
static void *has_a_number(void *again)
{
	pid_t number = (pid_t)syscall(SYS_gettid);

	if (ended.number ? number != ended.number : number < LEAST_NUMBER)
		return NULL;
	if (ended.number) {
		fiber_test_convert();
		SAME(fiber_switch(ended.fiber), -ESRCH);
		*(bool *)again = true;
	} else {
		ended = (struct ended){ number, fiber_test_convert() };
	}
	return NULL;
}

/* Write a number to a file of /proc. Return the number that it had. */
static int set_number(const char *path, int number)
{
	FILE *file = fopen(path, "r+");
	int old;

	CHECK(file && fscanf(file, "%d", &old) == 1);
	rewind(file);
	CHECK(fprintf(file, "%d", number) > 0 && !fclose(file));
	return old;
}

static void used_number(void)
{
	static const char most[] = "/proc/sys/kernel/pid_max";
	int old = set_number(most, MOST_NUMBER);
	bool again = false;

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	for (int i = 0; i < 2 * MOST_NUMBER && !again; i++)
		pthread_join(fiber_test_thread(has_a_number, &again), NULL);
	CHECK(again);
	set_number(most, old);
}

struct line {
	int process;
	long id;
	char state[16];
	int thread, creator;
	unsigned long entry;
	unsigned long long activations;
	long failed;
	unsigned long long ns;
};

/* Return the listing's line for a fiber of this process. */
static struct line line_of(long id)
{
	char path[64], text[256];
	struct line line;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fibers_file);
	file = fopen(path, "r");
	CHECK(file);
	while (fgets(text, sizeof(text), file)) {
		if (sscanf(text, "%d %ld %15s %d %d %lx %llu %ld %llu",
			   &line.process, &line.id, line.state, &line.thread,
			   &line.creator, &line.entry, &line.activations,
			   &line.failed, &line.ns) != 9 ||
		    line.id != id)
			continue;
		fclose(file);
		SAME(line.process, getpid());
		return line;
	}
	CHECK(!"the fiber is not listed");
	exit(1);
}

static void rests(void *unused)
{
	(void)unused;
	for (;;) {
		usleep(2000);
		SAME(fiber_switch(home), 0);
	}
}

static void ends(void *unused)
{
	(void)unused;
	syscall(SYS_exit, 0);
}

static int its_number;

static void *ends_there(void *id)
{
	fiber_test_convert();
	its_number = (int)syscall(SYS_gettid);
	fiber_switch((long)id);
	return NULL;
}

static void each_field(void)
{
	long waits, dead;
	struct line line;
	unsigned long long ns;

	SAME(fibers_begin(), 0);
	home = fiber_test_convert();
	waits = fiber_test_fiber(rests, NULL);
	line = line_of(waits);
	CHECK(!strcmp(line.state, "waiting") && line.thread == 0);
	CHECK(line.creator == getpid() && line.entry == (unsigned long)rests);
	CHECK(line.activations == 0 && line.failed == 0 && line.ns == 0);
	for (int i = 0; i < 3; i++)
		SAME(fiber_switch(waits), 0);
	line = line_of(waits);
	CHECK(line.activations == 3 && line.failed == 0);
	CHECK(line.ns >= 3 * 2000000);
	for (int i = 0; i < 2; i++)
		SAME(fiber_switch(home), -EBUSY);
	line = line_of(home);
	CHECK(!strcmp(line.state, "running") && line.thread == getpid());
	CHECK(line.activations == 4 && line.failed == 2);
	/* The time of one fiber is not counted for another. */
	ns = line.ns;
	usleep(2000);
	CHECK(line_of(home).ns >= ns + 2000000);
	SAME(line_of(waits).ns, line_of(waits).ns);
	dead = fiber_test_fiber(ends, NULL);
	pthread_join(fiber_test_thread(ends_there, (void *)dead), NULL);
	line = line_of(dead);
	CHECK(!strcmp(line.state, "dead") && line.thread == its_number);
	usleep(2000);
	SAME(line_of(dead).ns, line.ns);
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "many", many_end },	    { "most", too_many },
		{ "ended", ended_threads }, { "number", used_number },
		{ "fields", each_field },   { NULL, NULL },
	};

	return fiber_test_main(argc, argv, tests);
}
