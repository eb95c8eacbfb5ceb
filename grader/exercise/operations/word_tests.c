// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The unit tests of stages 1 and 2, whose numbers are one word.
 */
#include <sys/mman.h>

#include "unit_tests.h"

#define PAGE 4096

void print_value(const union fib_value *f)
{
	printf("%llx", f->word);
}

void run(struct fib_call *call, const struct request *r)
{
	static _Alignas(PAGE) char page[PAGE];
	union fib_value *f = (void *)page;

	if (strcmp(r->op, "decimal")) {
		printf("UNKNOWN");
		return;
	}
	/* A function that writes to the number ends the program. */
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	f->word = strtoull(r->a, NULL, 16);
	mprotect(page, PAGE, PROT_READ);
	do_decimal(call, f, strtoul(r->b, NULL, 10));
}
