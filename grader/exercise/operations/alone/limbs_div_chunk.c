// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 chunk = 1000000000;

	for (int again = 0; again < 3000; again++) {
		size_t size = again % 9 + 1;
		limb_t a[9], old[9];
		u64 rest = 0, got;

		for (size_t i = 0; i < 9; i++)
			old[i] = a[i] = again < 9 ? -1 : alone_random();
		got = limbs_div_chunk(a, size);
		for (size_t i = size; i--;) {
			rest = rest << 32 | old[i];
			if (a[i] != rest / chunk)
				return "a[] is not the quotient";
			rest %= chunk;
		}
		if (got != rest)
			return "it does not return the remainder";
	}
	return "right";
}
