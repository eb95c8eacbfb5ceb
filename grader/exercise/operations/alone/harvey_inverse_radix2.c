// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	static u64 room[5000], f[2048], old[2048];
	struct ntt *ntt = (struct ntt *)room;

	ntt->minus_one = shoup_factor_of(prime - 1);
	ntt->roots[0] = shoup_factor_of(1);
	ntt->made = 1;
	if (make_roots(call, ntt, 2048))
		return "make_roots returns an error";
	/* Half of the values are near 0 or near the largest one. */
	for (size_t i = 0; i < 2048; i++) {
		old[i] = alone_random() % (4 * prime);
		if (alone_random() % 2)
			old[i] = old[i] % 4 < 2 ?
					 old[i] >> 32 :
					 4 * prime - 1 - (old[i] >> 32);
		f[i] = old[i];
	}
	harvey_inverse_radix2(f, 1024, ntt, 1024);
	for (size_t i = 0; i < 1024; i++) {
		u64 x = f[2 * i] % prime, y = f[2 * i + 1] % prime;
		unsigned __int128 product =
			(unsigned __int128)ntt->roots[1024 + i].w * y;

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
