// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The unit tests of stages 1 and 2, whose numbers are one word.
 */
#include "unit_tests.h"

void print_value(const union fib_value *f)
{
	printf("%llx", f->word);
}

void run(struct fib_call *call, const struct request *r)
{
	union fib_value f = { .word = strtoull(r->a, NULL, 16) };

	if (!strcmp(r->op, "decimal"))
		do_decimal(call, &f, strtoul(r->b, NULL, 10));
	else
		printf("UNKNOWN");
}
