// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;

	for (int again = 0; again < 4000; again++) {
		u64 x = alone_random() >> (again % 2 ? 0 : again % 64);
		u64 folded = solinas_fold(again ? x : -1);

		if (folded >= 2 * prime)
			return "the result is not less than 2 P";
		if (folded % prime != (again ? x : (u64)-1) % prime)
			return "the result is not x modulo P";
	}
	return "right";
}
