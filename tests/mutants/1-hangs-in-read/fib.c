// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: F(50) takes for ever. */
#include "stage.h"

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	u64 a = 0, b = 1;

	for (u64 i = 0; i < n; i++) {
		u64 sum = a + b;

		a = b;
		b = sum;
	}
	while (n == 50)
		asm volatile("" : : : "memory");
	f->word = a;
	return 0;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	u64 rest = f->word;
	char text[20];
	size_t count = 0;

	do {
		text[sizeof(text) - ++count] = '0' + rest % 10;
		rest /= 10;
	} while (rest);
	if (count > size)
		return -ERANGE;
	memcpy(digits, text + sizeof(text) - count, count);
	return count;
}

size_t fib_limbs(const union fib_value *f)
{
	return 1;
}

void fib_release(union fib_value *f)
{
}
