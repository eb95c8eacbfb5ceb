// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const u64 base = 1000000000000000000ULL;
	unsigned __int128 f[172] = { 0, 1 };

	for (size_t i = 2; i < 172; i++)
		f[i] = f[i - 1] + f[i - 2];
	for (u64 n = 2; n <= 168; n++) {
		/* a = L(k), b = L(k + 1), c and t with old values. */
		u64 k = n / 2;
		const u64 value[4] = { f[k - 1] + f[k + 1], f[k] + f[k + 2],
				       12345, 678 };
		limb_t limb[4][8] = {};
		struct bignum number[4];

		for (int i = 0; i < 4; i++) {
			limb[i][0] = value[i] % base;
			limb[i][1] = value[i] / base;
			number[i] = (struct bignum){
				.limb = limb[i],
				.size = limb[i][1] ? 2 : 1,
				.capacity = 8,
				.call = call,
			};
		}
		if (fib_from_lucas(&number[2], &number[0], &number[1],
				   &number[3], n))
			return "it returns an error";
		if (limb[2][0] != (u64)(f[n] % base) || number[2].size > 2 ||
		    (number[2].size > 1 ? limb[2][1] : 0) != f[n] / base)
			return n % 2 ? "c is not F(2k + 1)" : "c is not F(2k)";
		if (limb[0][0] != value[0] % base ||
		    limb[1][0] != value[1] % base)
			return "it has changed a or b";
	}
	return "right";
}
