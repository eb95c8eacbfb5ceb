// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;

	for (int again = 0; again < 20000; again++) {
		u64 x = alone_random(), y = alone_random(), product;

		/* Values near the ends, and near multiples of the prime. */
		if (again % 3 == 0)
			x = again % 2 ? -1 - (u64)again / 6 : again / 6;
		if (again % 5 == 0)
			y = y % 64 * prime + again % 4 - 2;
		product = solinas_mul(x, y);
		if (product % prime != (u64)((unsigned __int128)x * y % prime))
			return "the result is not x * y modulo P";
		if (product >= 3 * prime)
			return "the result is not less than 3 P";
	}
	return "right";
}
