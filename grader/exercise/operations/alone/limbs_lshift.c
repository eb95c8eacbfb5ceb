// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Compare each bit of the result with the bit of the operand. */
static bool alone_shifted(const limb_t *a, size_t size, unsigned int shift,
			  const limb_t *c, limb_t top)
{
	const size_t bits = 8 * sizeof(limb_t);

	for (size_t i = 0; i < (size + 1) * bits; i++) {
		bool got =
			(i < size * bits ? c[i / bits] : top) >> i % bits & 1;
		bool want = 0;

		if (i >= shift && i - shift < size * bits)
			want = a[(i - shift) / bits] >> (i - shift) % bits & 1;
		if (got != want)
			return 0;
	}
	return 1;
}

const char *alone(struct fib_call *call)
{
	for (int again = 1; again <= 40; again++) {
		size_t size = alone_size(again, 5);

		for (unsigned int shift = 0; shift < 8 * sizeof(limb_t);
		     shift += size > 5 ? 13 : 1) {
			static limb_t a[alone_most], f[2 * alone_most + 4];
			size_t above = 1 + alone_random() % (size + 2);
			static limb_t c[alone_most];
			limb_t top;

			for (size_t i = 0; i < size; i++)
				f[i] = a[i] = alone_random();
			top = limbs_lshift(c, a, size, shift);
			if (!alone_shifted(a, size, shift, c, top))
				return "c[] is not a[] * 2^shift";
			top = limbs_lshift(f, f, size, shift);
			if (!alone_shifted(a, size, shift, f, top))
				return "c[] is not a[] * 2^shift if c is a";
			memcpy(f, a, size * sizeof(*f));
			f[above + size] = again;
			top = limbs_lshift(f + above, f, size, shift);
			if (!alone_shifted(a, size, shift, f + above, top))
				return "c[] is not a[] * 2^shift if c begins above a";
			if (f[above + size] != (limb_t)again)
				return "it writes more than size limbs";
		}
	}
	return "right";
}
