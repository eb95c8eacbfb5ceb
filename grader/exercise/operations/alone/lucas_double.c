// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 base = 1000000000000000000ULL;

	for (int again = 0; again < 2000; again++) {
		u64 x = again ? alone_random() % (base - 2) + 2 : 2;
		unsigned __int128 wide = x;
		limb_t of_a[8] = { x }, of_c[8] = { 17, 4 };
		struct bignum a = { .limb = of_a, .size = 1, .capacity = 8 };
		struct bignum c = { .limb = of_c, .size = 2, .capacity = 8 };
		bool minus = again % 2 == 0;

		a.call = c.call = call;
		if (lucas_double(&c, &a, minus))
			return "it returns an error";
		wide *= x;
		wide = minus ? wide - 2 : wide + 2;
		if (c.limb[0] != (u64)(wide % base) ||
		    (c.size > 1 ? c.limb[1] : 0) != (u64)(wide / base) ||
		    c.size > 2)
			return minus ? "c is not a^2 - 2" : "c is not a^2 + 2";
	}
	return "right";
}
