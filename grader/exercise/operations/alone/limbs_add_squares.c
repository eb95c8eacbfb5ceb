// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (size_t size = 1; size < 7; size++) {
		for (int again = 0; again < 100; again++) {
			limb_t a[8], c[16];
			unsigned __int128 column[17] = {};
			const int bits = 8 * sizeof(limb_t);

			for (size_t i = 0; i < size; i++)
				a[i] = again ? alone_random() : -1;
			a[size - 1] >>= 2;
			for (size_t i = 0; i < 2 * size; i++)
				c[i] = again ? alone_random() : -1;
			c[2 * size - 1] = 0;
			for (size_t i = 0; i < 2 * size; i++) {
				unsigned __int128 square = a[i / 2];

				square *= square;
				if (i % 2)
					square >>= bits;
				column[i] += (limb_t)square;
				column[i] += c[i];
				column[i + 1] += column[i] >> bits;
				column[i] = (limb_t)column[i];
			}
			limbs_add_squares(c, a, size);
			for (size_t i = 0; i < 2 * size; i++)
				if (c[i] != column[i])
					return "c[] is not the sum";
		}
	}
	return "right";
}
