// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 base = 1000000000000000000ULL, half = base / 2;

	for (int again = 0; again < 2000; again++) {
		limb_t a[16], d[20];
		size_t limbs = again % 15 + 1;
		/* What the digits below are worth more than the limbs. */
		u64 over = 0;

		for (size_t i = 0; i < limbs; i++)
			a[i] = alone_random() % base;
		/* Digits at both ends of the range, and carries into them. */
		if (limbs > 1 && again % 3)
			a[again % (limbs - 1)] = half - 2 + alone_random() % 5;
		if (limbs > 2 && again % 2)
			a[(again + 1) % (limbs - 1)] =
				half - 2 + alone_random() % 5;
		memset(d, 0x5a, sizeof(d));
		signed_digits(d, 18, a, limbs);
		for (size_t i = 0; i < limbs; i++) {
			u64 sum = a[i] + over;

			over = d[i] != sum;
			if (d[i] != sum - over * base ||
			    (over && i == limbs - 1))
				return "the digits are not worth the number";
			if (i < limbs - 1 && d[i] + half > base)
				return "a digit is not from -B / 2 to B / 2";
		}
		for (size_t i = limbs; i < 18; i++)
			if (d[i])
				return "the digits above the number are not 0";
		if (d[18] != 0x5a5a5a5a5a5a5a5aULL)
			return "it writes more digits than there is room for";
	}
	return "right";
}
