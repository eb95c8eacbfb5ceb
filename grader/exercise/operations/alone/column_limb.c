// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 base = 1000000000000000000ULL;

	for (int again = 0; again < 4000; again++) {
		column_t sum = (column_t)alone_random() << 64 | alone_random();
		struct carry carry = {
			.large = alone_random(),
			.small = again % 5,
		};
		limb_t limb;

		sum >>= alone_random() % 128 | 1;
		/* Remainders to which the old small carry adds a carry. */
		if (again % 2)
			sum = sum / base * base + base - 1 - again % 4;
		limb = column_limb(&carry, sum);
		if (limb >= base)
			return "the limb is not less than LIMB_BASE";
		if ((carry.large + carry.small) * base + limb !=
		    sum + again % 5)
			return "limb and carry are not worth sum and old carry";
		if (carry.small > 8)
			return "the small carry is more than 8";
	}
	return "right";
}
