// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const unsigned __int128 modulus = (1ULL << 61) - 1;
	const u64 base = 1000000000000000000ULL;
	static limb_t a[1500], b[1500];

	for (int again = 0; again < 60; again++) {
		size_t count = alone_random() % 1500 + 1;
		unsigned int times = again % 2 + 1;
		unsigned __int128 all = 0, rest = 0, begin, in_sum;
		struct folded got;

		for (size_t i = 0; i < 1500; i++) {
			a[i] = again < 6 ? base - 1 : alone_random() % base;
			b[i] = again < 6 ? base - 1 : alone_random() % base;
		}
		/* A column holds 340 of these products, but not all are added. */
		if (again < 6)
			count = (again % 2 ? 8 * 169 : 4 * 339) + 1 + again / 2;
		begin = alone_random();
		begin = begin << 53 | alone_random() >> 11;
		got = long_column(begin, a, b + count - 1, count, times);
		/* Compare modulo 2^128 and modulo a prime. */
		rest = begin % modulus;
		for (size_t i = 0; i != count; i++) {
			in_sum = (unsigned __int128)a[i] * b[count - 1 - i];
			all += times * in_sum;
			rest += times * (in_sum % modulus);
		}
		all += begin;
		if (got.sum + got.above * base != all ||
		    (got.sum % modulus + got.above % modulus * base) %
				    modulus !=
			    rest % modulus)
			return "sum and above are not worth all products and the old sum";
	}
	return "right";
}
