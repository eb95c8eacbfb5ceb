// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 20000; again++) {
		u64 half = alone_random() % 1000000000, rest;
		char digits[10] = "----------";

		if (again < 10)
			half = again < 5 ? again : 1000000004 - again;
		half_digits(digits, half);
		rest = half;
		for (int i = 9; i-- > 0; rest /= 10)
			if (digits[i] != (char)('0' + rest % 10))
				return "the nine digits are not those of half";
		if (digits[9] != '-')
			return "it writes more than nine digits";
	}
	return "right";
}
