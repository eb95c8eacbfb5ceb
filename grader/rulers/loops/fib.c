// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A stage for grader/sensitivity.py: F(n) by additions, after LOOPS loops whose
 * time is what is to be seen. The build adds a line that defines LOOPS.
 */
#include "loops.h"
#include "stage.h"

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	u64 a = 0, b = 1;

	loops(LOOPS);
	for (u64 step = 0; step < n; step++) {
		u64 sum = a + b;

		a = b;
		b = sum;
	}
	f->word = a;
	return 0;
}

size_t fib_limbs(const union fib_value *f)
{
	return 1;
}

void fib_release(union fib_value *f)
{
}
