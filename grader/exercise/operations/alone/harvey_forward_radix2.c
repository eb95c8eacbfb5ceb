// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	struct shoup_factor roots[16];
	u64 f[32], old[32];

	for (size_t i = 0; i < 16; i++) {
		roots[i].w = alone_random() % prime;
		roots[i].quotient =
			((unsigned __int128)roots[i].w << 64) / prime;
	}
	for (size_t i = 0; i < 32; i++)
		old[i] = f[i] = alone_random() % (4 * prime);
	harvey_forward_radix2(f, 16, roots);
	for (size_t i = 0; i < 16; i++) {
		unsigned __int128 x = old[2 * i];
		u64 wy = (unsigned __int128)roots[i].w * old[2 * i + 1] % prime;

		if (f[2 * i] % prime != (u64)((x + wy) % prime) ||
		    f[2 * i + 1] % prime != (u64)((x + prime - wy) % prime))
			return "the values are not f0 + w f1 and f0 - w f1";
		if (f[2 * i] >= 6 * prime || f[2 * i + 1] >= 6 * prime)
			return "a value is larger by more than 2 P";
	}
	return "right";
}
