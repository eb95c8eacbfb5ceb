// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 base = 1000000000000000000ULL;

	for (int again = 0; again < 20000; again++) {
		u64 limb = alone_random() % base, rest;
		char digits[19] = "------------------";

		if (again < 10)
			limb = again < 5 ? again : base + 4 - again;
		digits[18] = '#';
		limb_digits(digits, limb);
		rest = limb;
		for (int i = 18; i-- > 0; rest /= 10)
			if (digits[i] != (char)('0' + rest % 10))
				return "the eighteen digits are not those of limb";
		if (digits[18] != '#')
			return "it writes more than eighteen digits";
	}
	return "right";
}
