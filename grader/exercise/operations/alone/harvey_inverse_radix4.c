// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	static u64 room[256];
	struct ntt *ntt = (struct ntt *)room;
	u64 f[400], old[400];

	ntt->minus_one = shoup_factor_of(prime - 1);
	ntt->roots[0] = shoup_factor_of(1);
	ntt->made = 1;
	if (make_roots(call, ntt, 32))
		return "make_roots returns an error";
	/* Sixteen times, each of the four values is as large as possible, or 0. */
	for (size_t i = 0; i < 400; i++) {
		old[i] = alone_random() % (4 * prime);
		if (i % 100 < 16)
			old[i] = i % 100 >> i / 100 & 1 ? 4 * prime - 1 : 0;
		f[i] = old[i];
	}
	harvey_inverse_radix4(f, 100, 99, ntt, 5);
	for (size_t i = 0; i < 400; i++) {
		/* Two levels of the coefficients are four times the values. */
		unsigned __int128 w = ntt->roots[5].w, x, y;
		size_t at = i % 100, half = i / 200;
		u64 second = w * f[200 + at] % prime;
		u64 fourth = w * f[300 + at] % prime;

		if (at == 99) {
			if (f[i] != old[i])
				return "it changes more than count values";
			continue;
		}
		x = (unsigned __int128)f[at] + (half ? prime - second : second);
		y = (unsigned __int128)f[100 + at] +
		    (half ? prime - fourth : fourth);
		y = y % prime * ntt->roots[10 + half].w % prime;
		x += i / 100 % 2 ? prime - y : y;
		if (x % prime != (unsigned __int128)old[i] * 4 % prime)
			return "the coefficients are not those of the values";
		if (f[i] >= 4 * prime)
			return "a coefficient is not less than 4 P";
	}
	return "right";
}
