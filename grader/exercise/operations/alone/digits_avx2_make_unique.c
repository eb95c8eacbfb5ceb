// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	static s16 a[320] __attribute__((aligned(64)));

	for (int again = 0; again < 400; again++) {
		size_t count = 16 * (again % 19 + 1);
		bool borrow = again % 2, got;
		s16 old[320];

		/* In every second call, most digits are 0. */
		for (size_t i = 0; i < 320; i++) {
			a[i] = (int)(alone_random() % 10025) - 5012;
			if (again / 2 % 2 && alone_random() % 20)
				a[i] = 0;
			old[i] = a[i];
		}
		got = digits_avx2_make_unique(a, count, borrow);
		for (size_t i = 0; i != count; i++) {
			int want = old[i] - borrow;

			borrow = want < 0;
			if (a[i] != want + borrow * 10000)
				return "the digits are not 0 to 9999 with the same value";
		}
		if (got != borrow)
			return "it does not return whether the top digit borrows";
	}
	return "right";
}
