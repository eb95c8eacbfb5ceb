// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (unsigned int levels = 0; levels < 3; levels++) {
		limb_t a[16], b[16];
		column_t c[32], room[64], want[32] = {};

		for (size_t i = 0; i < 16; i++) {
			a[i] = alone_random() >> 8;
			b[i] = alone_random() >> 8;
		}
		for (size_t i = 0; i < 16; i++)
			for (size_t j = 0; j < 16; j++)
				want[i + j] += (column_t)a[i] * b[j];
		if (karatsuba_columns(call, c, a, b, 16, levels, room))
			return "it returns an error";
		for (size_t i = 0; i < 32; i++)
			if (c[i] != want[i])
				return levels ?
					       "the columns of a product of halves are wrong" :
					       "the columns are wrong at level 0";
	}
	return "right";
}
