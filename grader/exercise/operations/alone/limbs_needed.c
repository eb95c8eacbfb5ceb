// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* F(n) is about phi^n / sqrt(5); the logarithms of both, times 10^10. */
static const u64 alone_one = 10000000000, alone_phi = 6942419136;
static const u64 alone_sqrt5 = 11609640474;

/* Return the limbs of F(n). */
static u64 alone_limbs(u64 n)
{
	return n < 2 ? 1 : (alone_phi * n - alone_sqrt5) / alone_one / 64 + 1;
}

/*
 * Return the limbs of the last product or square for F(n), which has the limbs
 * of both factors: F(k) * (2 * F(k + 1) - F(k)), where the other factor is about
 * phi^k, or F(k + 1)^2.
 */
static u64 alone_product(u64 n)
{
	u64 k = n / 2;

	if (n & 1)
		return 2 * alone_limbs(k + 1);
	return alone_limbs(k) + alone_phi * k / alone_one / 64 + 1;
}

const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 2000; again++) {
		/* First both ends of the range. */
		u64 n = again < 2 ?
				again * 1000000 :
				alone_random() % 1000001 >> alone_random() % 20;
		u64 size = alone_limbs(n);

		if (limbs_needed(n) > size + size / 10 + 4)
			return "it returns more than 1.1 times the limbs of F(n) plus 4";
		if (limbs_needed(n) < size ||
		    limbs_needed(n) < alone_product(n))
			return "F(n), or the last product for it, has more limbs";
	}
	return "right";
}
