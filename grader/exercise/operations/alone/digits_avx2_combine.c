// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	static const int pairs[3][2] = { { 2, 1 }, { -1, 2 }, { -1, 1 } };
	static s16 room[3][320] __attribute__((aligned(64)));

	for (int again = 0; again < 300; again++) {
		const int *pair = pairs[again % 3], below = again % 5 - 2;
		size_t count = 16 * (again % 19 + 1);
		s16 old[2][320], *c = room[again / 3 % 3];
		int carry = below, got;

		for (size_t i = 0; i < 320; i++)
			for (int j = 0; j < 2; j++) {
				int digit =
					(int)(alone_random() % 10025) - 5012;

				if (again % 4 == 0)
					digit = digit < 0 ? -5012 : 5012;
				old[j][i] = room[j][i] = digit;
			}
		got = digits_avx2_combine(c, pair[0], room[0], pair[1], room[1],
					  count, carry);
		for (size_t i = 0; i != count; i++) {
			int left = pair[0] * old[0][i] + pair[1] * old[1][i] +
				   carry - c[i];

			if (c[i] < -5012 || c[i] > 5012)
				return "a digit is not from -DIGIT_MAX to DIGIT_MAX";
			if (left % 10000)
				return "c[] is not x * a[] + y * b[]";
			carry = left / 10000;
		}
		if (got != carry)
			return "it does not return the carry to the digits above";
	}
	return "right";
}
