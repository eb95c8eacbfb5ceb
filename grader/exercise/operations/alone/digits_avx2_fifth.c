// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	static s16 a[336] __attribute__((aligned(64)));

	for (int again = 0; again < 300; again++) {
		size_t count = 16 * (again % 19 + 1);
		int carry = again % 3 - 1, got;
		s16 old[336];

		for (size_t i = 0; i < 336; i++) {
			a[i] = (int)(alone_random() % 10025) - 5012;
			if (again % 4 == 0)
				a[i] = a[i] < 0 ? -5012 : 5012;
			if (!i)
				a[i] -= a[i] % 5;
			old[i] = a[i];
		}
		got = digits_avx2_fifth(a, count, carry);
		for (size_t i = 0; i != count; i++) {
			/* The remainders, 0 to 4, of this digit and the next. */
			int rest = (old[i] % 5 + 5) % 5;
			int next = (old[i + 1] % 5 + 5) % 5;
			int left = (old[i] - rest) / 5 + 2000 * next + carry -
				   a[i];

			if (a[i] < -5012 || a[i] > 5012)
				return "a digit is not from -DIGIT_MAX to DIGIT_MAX";
			if (left % 10000)
				return "a[] is not a fifth of the number";
			carry = left / 10000;
		}
		if (got != carry)
			return "it does not return the carry to the digits above";
	}
	return "right";
}
