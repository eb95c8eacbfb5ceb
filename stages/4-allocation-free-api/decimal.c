// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Convert a number to decimal, bit by bit: for each bit, from the top bit down,
 * double the digits; the bit is the carry into the last digit.
 */
#include "bignum.h"

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	size_t count = 0; /* digits so far, 0 to 9 each, the last one first */

	for (size_t bit = bn_bits(f->big); bit-- > 0;) {
		char carry = bn_bit(f->big, bit);
		int err = fib_account_work(call, count);

		if (err)
			return err;
		for (size_t i = 0; i < count; i++) {
			char twice = 2 * digits[i] + carry;

			carry = twice > 9;
			digits[i] = carry ? twice - 10 : twice;
		}
		/* Only zero keeps a leading zero. */
		if (carry || !count) {
			if (count == size)
				return -ERANGE;
			digits[count++] = carry;
		}
	}

	for (size_t i = 0; i < count / 2; i++)
		swap(digits[i], digits[count - 1 - i]);
	for (size_t i = 0; i < count; i++)
		digits[i] += '0';
	return count;
}
