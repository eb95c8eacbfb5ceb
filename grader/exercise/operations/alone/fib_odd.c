// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* a and b need not be Fibonacci numbers for a^2 + b^2. */
static const char *alone_odd_of_long(struct fib_call *call)
{
	static limb_t limb[4][2 * alone_long / sizeof(limb_t) + 2];
	struct bignum number[4];
	u64 a, b;

	alone_fill(limb[0], 1);
	alone_fill(limb[1], 2);
	a = alone_residue(limb[0], alone_long);
	b = alone_residue(limb[1], alone_long);
	for (int i = 0; i < 4; i++)
		number[i] = (struct bignum){
			.limb = limb[i],
			.size = i < 2 ? alone_long / sizeof(limb_t) : 1,
			.capacity = sizeof(limb[i]) / sizeof(limb_t),
			.call = call,
		};
	if (fib_odd(&number[2], &number[0], &number[1], &number[3]))
		return "it returns an error";
	if (alone_residue(limb[2], number[2].size * sizeof(limb_t)) !=
	    alone_mod(a, a, alone_mod(b, b, 0)))
		return "d is not a^2 + b^2 for long numbers";
	return "right";
}

const char *alone(struct fib_call *call)
{
	u64 f[83] = { 0, 1 };

	for (size_t i = 2; i < 83; i++)
		f[i] = f[i - 1] + f[i - 2];
	for (size_t k = 0; k <= 40; k++) {
		/* a, b, d and t; d and t have old values. */
		const u64 value[4] = { f[k], f[k + 1], 12345, 678 };
		limb_t limb[4][32] = {};
		struct bignum number[4];
		u64 got[3];

		for (int i = 0; i < 4; i++) {
			limb[i][0] = value[i];
			/* 0 if a limb has 64 bits */
			limb[i][1] = value[i] >> (8 * sizeof(limb_t) - 1) >> 1;
			number[i] = (struct bignum){
				.limb = limb[i],
				.size = limb[i][1] ? 2 : 1,
				.capacity = 32,
				.call = call,
			};
		}
		if (fib_odd(&number[2], &number[0], &number[1], &number[3]))
			return "it returns an error";
		for (int i = 0; i < 3; i++) {
			got[i] = number[i].limb[0];
			if (number[i].size > 1)
				got[i] |= (u64)number[i].limb[1] << 32;
		}
		if (got[2] != f[2 * k + 1] || number[2].size > 2)
			return "d is not F(2k + 1)";
		if (got[0] != f[k] || got[1] != f[k + 1])
			return "it has changed a or b";
	}
	return alone_odd_of_long(call);
}
