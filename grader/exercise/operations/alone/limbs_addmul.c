// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const int bits = 8 * sizeof(limb_t);

	for (int again = 0; again < 3000; again++) {
		static limb_t a[alone_most + 1], c[alone_most + 1];
		static limb_t old[alone_most + 1];
		size_t size = alone_size(again, 17);
		unsigned __int128 want = 0;
		limb_t factor, top;

		/* At first all limbs are as large as possible. */
		for (size_t i = 0; i <= size; i++) {
			a[i] = again < 17 ? -1 : alone_limb();
			old[i] = c[i] = again < 17 ? -1 : alone_limb();
		}
		factor = again < 17 ? -1 : alone_limb();
		top = limbs_addmul(c, a, size, factor);
		for (size_t i = 0; i != size; i++) {
			want += (unsigned __int128)factor * a[i];
			want += old[i];
			if (c[i] != (limb_t)want)
				return "c[] is not the sum";
			want >>= bits;
		}
		if (top != want)
			return "it does not return the carry beyond the top limb";
		if (c[size] != old[size])
			return "it writes more than size limbs";
	}
	return "right";
}
