// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 3000; again++) {
		u64 n = again < 300 ? again : alone_random() >> again % 60;
		limb_t a = 0, b = 0;
		int left = begin_with_limbs(&a, &b, n);
		u64 k, x = 2, y = 1;

		if (left < 1 || left > 64)
			return "the number of bits that are left is wrong";
		k = n >> (left - 1) >> 1;
		if (k > 85)
			return "it goes on after the numbers have become too large";
		if (left > 1 && n >> (left - 1) <= 85)
			return "it ends although the next two numbers fit into limbs";
		for (; k; k--) {
			u64 sum = x + y;

			x = y;
			y = sum;
		}
		if (a != x || b != y)
			return "a and b are not L(k) and L(k + 1)";
	}
	return "right";
}
