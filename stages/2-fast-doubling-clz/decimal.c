// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Convert a 64-bit word to decimal: divide by ten; the last digit comes first.
 *
 * These are plain divisions of 64-bit numbers. They do not link on a 32-bit
 * kernel, because the compiler calls a function of its own library for them,
 * which the kernel does not have. Code for 32-bit kernels, too, must use
 * div_u64_rem() of linux/math64.h. A stage is for 64-bit kernels only.
 */
#include "stage.h"

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	char last_first[20]; /* 2^64 - 1 has 20 digits */
	u64 rest = f->word;
	size_t count = 0;

	do {
		last_first[count++] = '0' + rest % 10;
		rest /= 10;
	} while (rest);

	if (count > size)
		return -ERANGE;
	for (size_t i = 0; i < count; i++)
		digits[i] = last_first[count - 1 - i];
	return count;
}
