// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	/* The work for this number of points is announced in parts. */
	enum { MAIN = 1 << 16 };
	static u64 room[4 * MAIN], f[3 * MAIN / 2], old[3 * MAIN / 2];
	struct ntt *ntt = (struct ntt *)room;

	ntt->minus_one = shoup_factor_of(prime - 1);
	ntt->roots[0] = shoup_factor_of(1);
	ntt->made = 1;
	if (make_roots(call, ntt, MAIN))
		return "make_roots returns an error";
	for (size_t parts = 2; parts <= 4; parts += 2) {
		struct shape s = { .main = MAIN, .parts = parts };
		size_t stride = MAIN / parts;
		u64 announced;
		u64 w = ntt->roots[parts / 2].w;

		for (size_t i = 0; i < MAIN + stride; i++)
			old[i] = f[i] = alone_random() % prime;
		announced = alone_announced();
		if (truncated_split(call, f, s, ntt))
			return "it returns an error";
		if (alone_announced() - announced < 2 * (MAIN + stride))
			return "it does not announce its work";
		for (size_t i = 0; i < stride; i++) {
			unsigned __int128 sum = prime - old[MAIN + i],
					  power = 1;

			for (size_t j = 0; j < parts; j++) {
				sum += power * old[j * stride + i] % prime;
				power = power * w % prime;
			}
			if (f[MAIN + i] % prime != (u64)(sum % prime))
				return "the additional remainder is wrong";
			if (f[i] % prime !=
			    (u64)(((unsigned __int128)old[i] + old[MAIN + i]) %
				  prime))
				return "f[parts] is not added to f0";
		}
	}
	return "right";
}
