// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Ten thousand fibers on stacks of 4 KB, and the listing of them; the most. */
#include "try.h"

#define MANY 10000
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

static void ten_thousand(void)
{
	char *stacks = try_memory((size_t)MANY * SMALL);
	char path[64];

	SAME(fibers_begin(), 0);
	home = try_convert();
	for (long i = 0; i < MANY; i++) {
		ids[i] = fiber_create(stacks + i * SMALL, SMALL, counts,
				      (void *)1);
		CHECK(ids[i] > 0);
	}
	for (int round = 1; round <= 2; round++)
		for (int i = 0; i < MANY; i++)
			SAME(fiber_switch(ids[i]), 0);
	SAME(visits, 3 * MANY);
	/* One for each, the first one's, the heading. */
	SAME(lines_of("/proc/fibers"), MANY + 2);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fibers_file);
	CHECK(lines_of(path) >= MANY + 2);
	for (int i = 0; i < MANY; i += 2)
		SAME(fiber_delete(ids[i]), 0);
	SAME(lines_of("/proc/fibers"), MANY / 2 + 2);
	SAME(fiber_switch(ids[1]), 0);
	SAME(fiber_switch(ids[0]), -ESRCH);
}

/* All wait on one stack, since none of them ever runs. */
static void too_many(void)
{
	char *stack = try_memory(SMALL);

	SAME(fibers_begin(), 0);
	home = try_convert();
	for (long i = 1; i < FIBERS_MOST; i++)
		CHECK(fiber_create(stack, SMALL, counts, NULL) > 0);
	SAME(fiber_create(stack, SMALL, counts, NULL), -ENOSPC);
	SAME(fiber_delete(2), 0);
	CHECK(fiber_create(stack, SMALL, counts, NULL) > 0);
}

int main(int argc, char **argv)
{
	static const struct try tries[] = {
		{ "many", ten_thousand },
		{ "most", too_many },
		{ NULL, NULL },
	};

	return try_main(argc, argv, tries);
}
