// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	limb_t a[16], s[9] = {};

	for (size_t i = 0; i < 16; i++)
		a[i] = alone_random();
	s[8] = 1;
	add_halves(s, a, 8);
	for (size_t i = 0; i < 8; i++)
		if (s[i] - a[8 + i] != a[i])
			return "s[] is not the sum of both halves";
	return s[8] == 1 ? "right" : "it writes more than half sums";
}
