// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (size_t size = 1; size < 7; size++) {
		for (int again = 0; again < 100; again++) {
			limb_t a[8], c[16];
			u64 column[17] = {};

			for (size_t i = 0; i < size; i++)
				a[i] = again ? alone_random() : -1;
			a[size - 1] >>= 2;
			for (size_t i = 0; i < 2 * size; i++)
				c[i] = again ? alone_random() : -1;
			c[2 * size - 1] = 0;
			for (size_t i = 0; i < 2 * size; i++) {
				u64 square = (u64)a[i / 2] * a[i / 2];

				column[i] += i % 2 ? square >> 32 : (u32)square;
				column[i] += c[i];
				column[i + 1] += column[i] >> 32;
				column[i] = (u32)column[i];
			}
			limbs_add_squares(c, a, size);
			for (size_t i = 0; i < 2 * size; i++)
				if (c[i] != column[i])
					return "c[] is not the sum";
		}
	}
	return "right";
}
