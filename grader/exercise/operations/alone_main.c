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

/**
 * struct alone_test - the test of a function
 * @name: the function
 * @test: returns a description of what is wrong, or "right"
 */
struct alone_test {
	const char *name;
	const char *(*test)(struct fib_call *call);
};

/* The tests; the last entry has no name. */
extern const struct alone_test alone_tests[];

/* The state of the tests' random numbers. */
u64 alone_state;

int main(void)
{
	static struct test_record record;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (getline(&line, &size, stdin) <= 0)
		return 2;
	test_record_begin(&record, line);
	memset(line, 0, size);
	while ((length = getline(&line, &size, stdin)) > 0) {
		const struct alone_test *one = alone_tests;
		char *seed = strchr(line, ' ');
		struct fib_call call;

		if (!seed)
			return 2;
		*seed++ = '\0';
		alone_state = strtoull(seed, NULL, 10);
		while (one->name && strcmp(one->name, line))
			one++;
		if (!one->name)
			return 2;
		begin_call(&call);
		puts(one->test(&call));
		fflush(stdout);
		test_record_check(&record, length);
	}
	free(line);
	printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&record));
	return 0;
}
