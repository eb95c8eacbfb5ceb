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
		struct fib_call call;

		if (!seed)
			return 2;
		*seed++ = '\0';
		alone_state = strtoull(seed, NULL, 10);
		while (alone_names[i] && strcmp(alone_names[i], line))
			i++;
		if (!alone_names[i])
			return 2;
		begin_call(&call);
		puts(alone_tests[i](&call));
		fflush(stdout);
		test_record_check(&record, length);
	}
	free(line);
	printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&record));
	return 0;
}
