// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 2000; again++) {
		u64 n = alone_random() % 1000000 >> alone_random() % 20;
		/* F(n) has at most 0.69425 n bits, and at least 0.69424 n - 2. */
		u64 most = 69425 * n / 100000 / 64 + 1;
		u64 least = 69424 * n / 100000 / 64;

		if (limbs_needed(n) > most + most / 10 + 4)
			return "it returns more than 1.1 times the limbs of F(n) plus 4";
		if (limbs_needed(n) < least)
			return "it returns fewer limbs than F(n) has";
	}
	return "right";
}
