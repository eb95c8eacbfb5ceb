// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	static u64 f[5000], g[5000], old[5000];

	for (size_t i = 0; i < 5000; i++) {
		old[i] = f[i] = alone_random() % (42 * prime);
		g[i] = alone_random() % (42 * prime);
	}
	if (mul_points(call, f, g, 4999))
		return "it returns an error";
	if (alone_announced() < 2 * 4999)
		return "it announces too little work";
	for (size_t i = 0; i < 4999; i++) {
		unsigned __int128 want = old[i] % prime;

		if (f[i] % prime != (u64)(want * g[i] % prime))
			return "f[] is not the product modulo P";
		if (f[i] >= 4 * prime)
			return "a product is not less than 4 P";
	}
	return f[4999] == old[4999] ? "right" : "it multiplies too many points";
}
