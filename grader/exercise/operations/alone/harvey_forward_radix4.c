// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 prime = (1ULL << 58) - 100663295;
	struct shoup_factor roots[16];
	u64 f[400], old[400];

	for (int again = 0; again < 60; again++) {
		for (size_t i = 0; i < 16; i++)
			roots[i] = shoup_factor_of(alone_random() % prime);
		/*
		 * Differences are extreme if f0 is short and the others are as
		 * long as possible. So half of the values are like that.
		 */
		for (size_t i = 0; i < 400; i++) {
			unsigned int shift = i < 100 ? 32 : 0;

			if (alone_random() % 2)
				shift = alone_random() % 64;
			old[i] = alone_random() >> shift;
			if (i < 200) /* These are increased by up to 4 P. */
				old[i] %= -4 * prime;
			f[i] = old[i];
		}
		harvey_forward_radix4(f, 100, 99, roots, 5);
		for (size_t i = 0; i < 400; i++) {
			/* The two sums and differences of the first level. */
			unsigned __int128 w = roots[5].w, x, y;
			size_t at = i % 100, half = i / 200;
			u64 second = w * old[200 + at] % prime;
			u64 fourth = w * old[300 + at] % prime;

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
			x += i / 100 % 2 ? prime - y : y;
			if (f[i] % prime != (u64)(x % prime))
				return "the values are not those of two levels";
			if (f[i] < old[at] || f[i] - old[at] >= 4 * prime)
				return "a value is larger by more than 4 P";
		}
	}
	return "right";
}
