// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	struct shoup_factor roots[16];
	u64 f[40], old[40];

	for (size_t i = 0; i < 16; i++) {
		roots[i].w = alone_random() % prime;
		roots[i].quotient =
			((unsigned __int128)roots[i].w << 64) / prime;
	}
	for (size_t i = 0; i < 40; i++)
		old[i] = f[i] = alone_random() % (4 * prime);
	harvey_forward_radix4(f, 10, 9, roots, 5);
	for (size_t i = 0; i < 40; i++) {
		/* The two sums and differences of the first level. */
		unsigned __int128 w = roots[5].w, x, y;
		size_t at = i % 10, half = i / 20;
		u64 second = w * old[20 + at] % prime;
		u64 fourth = w * old[30 + at] % prime;

		if (at == 9) {
			if (f[i] != old[i])
				return "it changes more than count values";
			continue;
		}
		x = (unsigned __int128)old[at] +
		    (half ? prime - second : second);
		y = (unsigned __int128)old[10 + at] +
		    (half ? prime - fourth : fourth);
		y = y % prime * roots[10 + half].w % prime;
		if (f[i] % prime !=
		    (u64)((x + (i / 10 % 2 ? prime - y : y)) % prime))
			return "the values are not those of two levels";
		if (f[i] >= 8 * prime)
			return "a value is larger by more than 4 P";
	}
	return "right";
}
