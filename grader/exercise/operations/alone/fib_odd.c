// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
static const char *alone_odd_of_long(struct fib_call *call, int k)
{
	static union {
		u32 word[alone_words];
		limb_t limb[alone_room];
	} memory[4];
	struct bignum number[4];
	u64 a, b;

	memset(memory, 0, sizeof(memory));
	alone_fibonacci(k, memory[0].word, memory[1].word);
	a = alone_residue(memory[0].word, sizeof(memory[0].word));
	b = alone_residue(memory[1].word, sizeof(memory[1].word));
	for (int i = 0; i < 4; i++) {
		size_t bytes = i < 2 ? alone_bytes(memory[i].word) : 1;

		number[i] = (struct bignum){
			.limb = memory[i].limb,
			.size = (bytes - 1) / sizeof(limb_t) + 1,
			.capacity = sizeof(memory[i]) / sizeof(limb_t),
			.call = call,
		};
	}
	if (fib_odd(&number[2], &number[0], &number[1], &number[3]))
		return "it returns an error";
	if (alone_residue(memory[2].limb, number[2].size * sizeof(limb_t)) !=
	    alone_mod(a, a, alone_mod(b, b, 0)))
		return "d is not F(2k + 1) for large k";
	return 0; /* right */
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
	for (int again = 0; again < 12; again++) {
		const char *said = alone_odd_of_long(call, alone_long(again));

		if (said)
			return said;
	}
	return "right";
}
