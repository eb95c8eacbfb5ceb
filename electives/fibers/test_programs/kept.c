// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test that the memory of ended threads and their fibers is freed while the
 * table is still open. The kernel must run with slub_debug=U, which records
 * where each block was allocated.
 */
#include "test_program.h"

#include <glob.h>

#define TRACES "/sys/kernel/debug/slab/kmalloc-*/alloc_traces"
#define THREADS 200
/* How much the kernel's memory may grow: by half of 16 KB for each thread. */
#define MOST_KB (8 * THREADS)
/* The blocks of the main thread, of the last thread, and of their fibers. */
#define FEW 16
/* RCU frees a block some time after the module has passed it to RCU. */
#define SECONDS 10

static long other;

static void just_exits(void *unused)
{
	(void)unused;
	syscall(SYS_exit, 0);
}

static void *ends_in_it(void *unused)
{
	(void)unused;
	fiber_test_convert();
	fiber_switch(other);
	CHECK(!"a thread continues after its end");
	return NULL;
}

/*
 * Return the number of blocks in a file of traces that the module has
 * allocated. A trace begins with its number of blocks; its other lines are the
 * functions. No check is counted here, because the number of calls varies.
 */
static unsigned long blocks_in(const char *path)
{
	unsigned long blocks = 0, sum = 0;
	FILE *file = fopen(path, "r");
	char line[512];

	if (!file)
		fiber_test_failed(__FILE__, __LINE__, path);
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, " age="))
			blocks = strtoul(line, NULL, 10);
		if (strstr(line, "[fibers]")) {
			sum += blocks;
			blocks = 0;
		}
	}
	fclose(file);
	return sum;
}

static unsigned long blocks_of_the_module(void)
{
	unsigned long sum = 0;
	glob_t found;

	if (glob(TRACES, 0, NULL, &found))
		fiber_test_failed(__FILE__, __LINE__, TRACES);
	for (size_t i = 0; i < found.gl_pathc; i++)
		sum += blocks_in(found.gl_pathv[i]);
	globfree(&found);
	return sum;
}

static void threads_that_end(void)
{
	long before = fiber_test_kernel_memory();

	SAME(fibers_begin(), 0);
	fiber_test_convert();
	for (int i = 0; i < THREADS; i++) {
		other = fiber_test_fiber(just_exits, NULL);
		pthread_join(fiber_test_thread(ends_in_it, NULL), NULL);
	}
	CHECK(blocks_of_the_module() > 0);
	for (int i = 0; i < SECONDS && blocks_of_the_module() > FEW; i++)
		sleep(1);
	if (blocks_of_the_module() > FEW) {
		printf("%lu blocks of ended threads and their fibers are not freed before the table is closed\n",
		       blocks_of_the_module());
		_exit(1);
	}
	/* Large blocks have no traces. */
	CHECK(fiber_test_kernel_memory() - before <= MOST_KB);
}

int main(int argc, char **argv)
{
	static const struct test_function tests[] = {
		{ "threads", threads_that_end },
		{ NULL, NULL },
	};

	return fiber_test_main(argc, argv, tests);
}
