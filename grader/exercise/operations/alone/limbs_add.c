// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const unsigned __int128 one = 1;
	const unsigned __int128 base = alone_base ?: one << 8 * sizeof(limb_t);

	for (int again = 0; again < 3000; again++) {
		static limb_t a[alone_most + 1], b[alone_most + 1];
		static limb_t first[alone_most + 1], second[alone_most + 1];
		static limb_t other[alone_most + 1];
		limb_t *const place[] = { other, a, b };
		size_t a_size = alone_size(again, 9);
		size_t b_size = again / 9 % a_size + 1;
		unsigned __int128 want = 0;
		limb_t top, *c;

		/* Many limbs are 0 or the largest, so that carries run far. */
		for (size_t i = 0; i < a_size; i++) {
			a[i] = alone_random() % base;
			b[i] = alone_random() % 3 ? base - 1 - a[i] : a[i];
			if (alone_random() % 2)
				a[i] = alone_random() % 2 ? 0 : base - 1;
		}
		memcpy(first, a, sizeof(a));
		memcpy(second, b, sizeof(b));
		c = place[alone_in_place ? alone_random() % 3 : 0];
		c[a_size] = again;
		top = limbs_add(c, a, a_size, b, b_size);
		for (size_t i = 0; i < a_size; i++) {
			want += first[i];
			want += i < b_size ? second[i] : 0;
			if (c[i] != want % base)
				return "c[] is not the sum";
			want /= base;
		}
		if (top != want)
			return "it does not return the carry out of the top limb";
		if (c[a_size] != (limb_t)again)
			return "it writes more than a_size limbs";
	}
	return "right";
}
