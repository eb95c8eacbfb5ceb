// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* The limbs of F(n), or one less for a few n. */
static u64 alone_limbs(u64 n)
{
	/* F(n) is at least 2^(0.69424 n - 1.17). */
	u64 bits = 69424 * n / 100000;

	return bits > 2 ? (bits - 2) / 64 + 1 : 1;
}

const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 2000; again++) {
		u64 n = alone_random() % 1000000 >> alone_random() % 20;
		/* F(n) has at most 0.69425 n bits. */
		u64 most = 69425 * n / 100000 / 64 + 1;
		/* A product takes the limbs of both factors. */
		u64 both = 2 * alone_limbs(n / 2);

		if (limbs_needed(n) > most + most / 10 + 4)
			return "it returns more than 1.1 times the limbs of F(n) plus 4";
		if (limbs_needed(n) < both || limbs_needed(n) < alone_limbs(n))
			return "F(n), or the product of two halves, has more limbs";
	}
	return "right";
}
