// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const int bits = 8 * sizeof(limb_t);

	for (int again = 0; again < 3000; again++) {
		size_t size = again % 17 + 1;
		limb_t a[18], c[18], old[18], factor, top;
		unsigned __int128 want = 0;

		/* At first all limbs are as large as possible. */
		for (size_t i = 0; i < 18; i++) {
			a[i] = again < 17 ? -1 : alone_random();
			old[i] = c[i] = again < 17 ? -1 : alone_random();
		}
		factor = again < 17 ? -1 : alone_random();
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
