// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (size_t size = 1; size < 10; size++) {
		limb_t a[16];
		column_t got[32], want[32] = {};

		for (size_t i = 0; i < size; i++)
			a[i] = alone_random() >> 8;
		for (size_t i = 0; i < size; i++)
			for (size_t j = 0; j < size; j++)
				want[i + j] += (column_t)a[i] * a[j];
		comba_leaf_square(got, a, size);
		for (size_t i = 0; i < 2 * size; i++)
			if (got[i] != want[i])
				return "the columns are not those of the square";
	}
	return "right";
}
