// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 2000; again++) {
		u64 n = alone_random() % 1000000 >> alone_random() % 20;
		/* F(n) has at most 0.69425 n bits. */
		u64 limbs = 69425 * n / 100000 / 64 + 1;

		if (limbs_needed(n) > limbs + limbs / 10 + 4)
			return "it returns more than a tenth more limbs than F(n) has, and 4";
	}
	return "right";
}
