// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	static u64 room[256];
	struct ntt *ntt = (struct ntt *)room;
	u64 f[32], old[32];

	ntt->minus_one = shoup_factor_of(prime - 1);
	ntt->roots[0] = shoup_factor_of(1);
	ntt->made = 1;
	if (make_roots(call, ntt, 32))
		return "make_roots returns an error";
	for (size_t i = 0; i < 32; i++)
		old[i] = f[i] = alone_random() % (4 * prime);
	harvey_inverse_radix2(f, 16, ntt, 16);
	for (size_t i = 0; i < 16; i++) {
		u64 x = f[2 * i] % prime, y = f[2 * i + 1] % prime;
		unsigned __int128 product =
			(unsigned __int128)ntt->roots[16 + i].w * y;

		/* y is the difference of the values, divided by w. */
		if (x != (u64)(((unsigned __int128)old[2 * i] +
				old[2 * i + 1]) %
			       prime) ||
		    (product + old[2 * i + 1]) % prime != old[2 * i] % prime)
			return "the coefficients are not those of the values";
		if (f[2 * i] >= 4 * prime || f[2 * i + 1] >= 4 * prime)
			return "a coefficient is not less than 4 P";
	}
	return "right";
}
