// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Run tests of single functions of a stage: see alone.py. A request is a line
 * with a function and a seed. The answer is a line: what is wrong, or "right".
 * The first line of the input is a nonce, and the last line of the output is
 * the record of the requests: see grader/base/test_record.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocator_state.h"
#include "../../base/test_record.h"

/* The number of yields of a test that fail, one in each repetition. */
#define KILLS 8

/* The functions that have a test; the last entry is NULL. */
extern const char *const alone_names[];

/* Their tests. Each returns a description of what is wrong, or "right". */
extern const char *(*const alone_tests[])(struct fib_call *call);

/* The state of the tests' random numbers. */
u64 alone_state;

u64 alone_announced(void);
u64 alone_announced(void)
{
	return allocator.announced;
}

u64 alone_held(void);
u64 alone_held(void)
{
	return allocator.bytes;
}

/*
 * Repeat a test that is right, each time with another yield that finds the caller
 * killed: the first one, the last one, and some between. Return whether the
 * function then returns the error at once; its test must say so.
 */
static bool ends_when_killed(const char *(*test)(struct fib_call *call),
			     u64 seed)
{
	u64 yields = allocator.yields;
	bool ends = true;

	for (u64 i = 0; yields && ends && i < KILLS; i++) {
		struct fib_call call;
		u64 place = 1 + i * (yields - 1) / (KILLS - 1);

		begin_call(&call);
		alone_state = seed;
		allocator.kill_at = place;
		ends = strstr(test(&call), "returns an error") &&
		       allocator.yields == place;
		allocator.kill_at = 0;
	}
	return ends;
}

int main(void)
{
	static struct test_record record;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (getline(&line, &size, stdin) <= 0)
		return 2;
	/* Otherwise announced work is not counted. */
	allocator.yield_always = true;
	test_record_begin(&record, line);
	memset(line, 0, size);
	while ((length = getline(&line, &size, stdin)) > 0) {
		size_t i = 0;
		char *seed = strchr(line, ' ');
		const char *said;
		struct fib_call call;
		u64 drawn;

		if (!seed)
			return 2;
		*seed++ = '\0';
		alone_state = drawn = strtoull(seed, NULL, 10);
		while (alone_names[i] && strcmp(alone_names[i], line))
			i++;
		if (!alone_names[i])
			return 2;
		begin_call(&call);
		said = alone_tests[i](&call);
		if (!strcmp(said, "right") &&
		    !ends_when_killed(alone_tests[i], drawn))
			said = "it loses an error of fib_account_work";
		puts(said);
		fflush(stdout);
		test_record_check(&record, length);
	}
	free(line);
	printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&record));
	return 0;
}
