// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Run the test of one function of a stage, and print its result: see alone.py.
 */
#include <stdio.h>

#include "allocator_state.h"

const char *alone(struct fib_call *call);

int main(void)
{
	struct fib_call call;

	begin_call(&call);
	puts(alone(&call));
	return 0;
}
