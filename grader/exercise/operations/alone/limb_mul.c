// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 1000; again++) {
		u64 a = again ? alone_random() : -1;
		u64 b = again > 1 ? alone_random() : -1;
		const unsigned __int128 wide = a;
		limb_t high = 0;

		if (limb_mul(&high, a, b) != (u64)(wide * b))
			return "the lower limb is not that of a * b";
		if (high != (u64)(wide * b >> 64))
			return "*high is not the upper limb of a * b";
	}
	return "right";
}
