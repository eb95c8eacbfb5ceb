// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const unsigned __int128 modulus = (1ULL << 61) - 1;
	const u64 base = 1000000000000000000ULL;

	for (int again = 0; again < 400; again++) {
		size_t size = again % 40 + 1, top = 2 * size - 1, from, to;
		struct carry carry = {
			.large = alone_random() >> again % 60,
			.small = again % 5,
		};
		unsigned __int128 want = carry.large % modulus + carry.small;
		unsigned __int128 got = 0, place = 1;
		limb_t a[40], c[80];

		for (size_t i = 0; i < 40; i++)
			a[i] = again % 4 ? alone_random() % base : base - 1;
		from = alone_random() % top;
		to = from + 1 + alone_random() % (top - from);
		c[to] = again;
		carry = comba_square_columns(c, from, to, carry, a, size);
		if (c[to] != (limb_t)again)
			return "it writes more limbs than c[to - 1]";
		/* Compare the value of limbs and carry modulo a prime. */
		for (size_t k = from; k != to; k++) {
			for (size_t i = 0; i < size; i++)
				if (i <= k && k - i < size)
					want += place *
						(a[i] % modulus *
						 (a[k - i] % modulus) %
						 modulus) %
						modulus;
			if (c[k] >= base)
				return "a limb is not less than LIMB_BASE";
			got += place * (c[k] % modulus) % modulus;
			place = place * base % modulus;
		}
		got += place * ((carry.large + carry.small) % modulus) %
		       modulus;
		if (got % modulus != want % modulus)
			return "limbs and carry are not worth the columns";
	}
	return "right";
}
