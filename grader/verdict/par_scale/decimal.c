// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Decimal digits of a word, the first one first: for what is no stage.
 */
#include "stage.h"

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	u64 rest = f->word, ten = 1;
	size_t count = 1;

	for (; rest / ten >= 10; count++)
		ten *= 10;
	if (size < count)
		return -ERANGE;
	for (size_t i = 0; i < count; i++, ten /= 10)
		digits[i] = '0' + rest / ten % 10;
	return count;
}
