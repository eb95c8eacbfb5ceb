// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	struct shoup_factor roots[256];
	u64 f[512], old[512];

	for (size_t i = 0; i < 256; i++) {
		roots[i].w = alone_random() % prime;
		roots[i].quotient =
			((unsigned __int128)roots[i].w << 64) / prime;
	}
	/* Inputs of all sizes, so that sums and remainders are extreme. */
	for (size_t i = 0; i < 512; i++) {
		old[i] = alone_random() >> alone_random() % 64;
		if (i % 2 == 0)
			old[i] %= -2 * prime;
		f[i] = old[i];
	}
	harvey_forward_radix2(f, 256, roots);
	for (size_t i = 0; i < 256; i++) {
		unsigned __int128 x = old[2 * i];
		u64 wy = (unsigned __int128)roots[i].w * old[2 * i + 1] % prime;

		if (f[2 * i] % prime != (u64)((x + wy) % prime) ||
		    f[2 * i + 1] % prime != (u64)((x + prime - wy) % prime))
			return "the values are not f0 + w f1 and f0 - w f1";
		if (f[2 * i] - old[2 * i] >= 2 * prime ||
		    f[2 * i + 1] - old[2 * i] > 2 * prime)
			return "a value is larger by more than 2 P";
	}
	return "right";
}
