// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int drawn = 0; drawn < 30; drawn++) {
		size_t size = alone_size(drawn, 6);

		for (int again = 0; again < 20; again++) {
			static unsigned __int128 column[2 * alone_most + 1];
			static limb_t a[alone_most], c[2 * alone_most];
			const int bits = 8 * sizeof(limb_t);

			memset(column, 0, sizeof(column));

			for (size_t i = 0; i < size; i++)
				a[i] = again ? alone_random() : -1;
			a[size - 1] >>= 2;
			for (size_t i = 0; i < 2 * size; i++)
				c[i] = again ? alone_random() : -1;
			/* The sum fits, and is not small. */
			c[2 * size - 1] >>= 1;
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
