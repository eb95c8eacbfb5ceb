// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	struct shoup_factor roots[16];
	u64 f[400], old[400];

	/*
	 * Half of the terms that are not multiplied are short, half of the
	 * others are as long as possible, and the roots change, so that some
	 * differences are extreme.
	 */
	for (size_t again = 0; again < 60 * 400; again++) {
		size_t i = again % 400, at = i % 100, half = i / 200;
		unsigned __int128 w, x, y;
		u64 second, fourth;

		if (i == 0) {
			for (size_t j = 0; j < 16; j++)
				roots[j] =
					shoup_factor_of(alone_random() % prime);
			for (size_t j = 0; j < 400; j++) {
				unsigned int shift = j < 100 ? 32 : 0;

				if (alone_random() % 2)
					shift = alone_random() % 64;
				old[j] = alone_random() >> shift;
				if (j < 200)
					old[j] %= -4 * prime;
				f[j] = old[j];
			}
			harvey_forward_radix4(f, 100, 99, roots, 5);
		}
		/* The two sums and differences of the first level. */
		w = roots[5].w;
		second = w * old[200 + at] % prime;
		fourth = w * old[300 + at] % prime;
		if (at == 99) {
			if (f[i] != old[i])
				return "it changes more than count values";
			continue;
		}
		x = (unsigned __int128)old[at] +
		    (half ? prime - second : second);
		y = (unsigned __int128)old[100 + at] +
		    (half ? prime - fourth : fourth);
		y = y % prime * roots[10 + half].w % prime;
		if (f[i] % prime !=
		    (u64)((x + (i / 100 % 2 ? prime - y : y)) % prime))
			return "the values are not those of two levels";
		if (f[i] < old[at] || f[i] - old[at] >= 4 * prime)
			return "a value is larger by more than 4 P";
	}
	return "right";
}
