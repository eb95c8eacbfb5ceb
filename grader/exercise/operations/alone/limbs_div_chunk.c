// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 chunk = 1000000000;

	for (int again = 0; again < 3000; again++) {
		static limb_t a[alone_most + 1], old[alone_most + 1];
		size_t size = alone_size(again, 9);
		u64 rest = 0, got;

		for (size_t i = 0; i <= size; i++)
			old[i] = a[i] = again < 9 ? -1 : alone_limb();
		got = limbs_div_chunk(a, size);
		for (size_t i = size; i--;) {
			rest = rest << 32 | old[i];
			if (a[i] != rest / chunk)
				return "a[] is not the quotient";
			rest %= chunk;
		}
		if (got != rest)
			return "it does not return the remainder";
		if (a[size] != old[size])
			return "it writes more than size limbs";
	}
	return "right";
}
