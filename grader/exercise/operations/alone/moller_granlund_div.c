// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 chunk = 10000000000000000000ULL;

	for (int again = 0; again < 20000; again++) {
		u64 high = alone_random() % chunk, low = alone_random();
		unsigned __int128 wide;
		limb_t rest = 0;

		/* The ends of each range, and multiples of the divisor. */
		if (again % 5 == 0)
			high = again % 2 ? chunk - 1 - again / 10 : again / 10;
		if (again % 7 == 0)
			low = again % 2 ? -1 - (u64)again / 14 : again / 14;
		wide = (unsigned __int128)high << 64 | low;
		if (again % 3 == 0)
			wide = wide / chunk * chunk + again % 2;
		high = wide >> 64;
		low = wide;
		if (moller_granlund_div(&rest, high, low) !=
		    (u64)(wide / chunk))
			return "it does not return the quotient";
		if (rest != (u64)(wide % chunk))
			return "*rest is not the remainder";
	}
	return "right";
}
