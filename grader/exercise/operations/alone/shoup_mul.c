// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;

	for (int again = 0; again < 20000; again++) {
		u64 x = alone_random(), w = alone_random() % prime, product;
		struct shoup_factor factor;

		if (again % 3 == 0)
			x = again % 2 ? -1 - (u64)again / 6 : again / 6;
		if (again % 5 == 0)
			w = again % 2 ? prime - 1 - again / 10 : again / 10;
		factor.w = w;
		factor.quotient = ((unsigned __int128)w << 64) / prime;
		product = shoup_mul(x, factor);
		if (product % prime != (u64)((unsigned __int128)x * w % prime))
			return "the result is not x * w modulo P";
		if (product >= 2 * prime)
			return "the result is not less than 2 P";
	}
	return "right";
}
