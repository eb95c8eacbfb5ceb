// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int sum = -15015; sum <= 15000; sum++) {
		s16x16 x, carry;

		for (int i = 0; i < 16; i++)
			x[i] = sum + (i % 2 ? i : 0);
		carry = carry_of(x);
		for (int i = 0; i < 16; i++) {
			int rest = x[i] - 10000 * carry[i];

			if (rest < -5000 || rest > 5000)
				return "the digit that is left is not from -5000 to 5000";
		}
	}
	return "right";
}
