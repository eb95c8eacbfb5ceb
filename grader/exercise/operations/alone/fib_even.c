// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
static u64 alone_value(const struct bignum *a)
{
	u64 value = a->limb[0];

	if (a->size > 1)
		value |= (u64)a->limb[1] << 32;
	return value;
}

static void alone_set(struct bignum *a, struct fib_call *call, limb_t *limb,
		      u64 value)
{
	*a = (struct bignum){ .limb = limb, .capacity = 32, .call = call };
	do {
		limb[a->size++] = value;
		value = value >> (8 * sizeof(*limb) - 1) >> 1;
	} while (value);
}

static const char *alone_even_of_long(struct fib_call *call, int k)
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
	if (fib_even(&number[2], &number[0], &number[1], &number[3]))
		return "it returns an error";
	if (alone_residue(memory[2].limb, number[2].size * sizeof(limb_t)) !=
	    alone_mod(a, alone_mod(2, b, alone_mod(a, (1ULL << 61) - 2, 0)), 0))
		return "c is not F(2k) for large k";
	return 0; /* right */
}

const char *alone(struct fib_call *call)
{
	u64 f[82] = { 0, 1 };

	for (size_t i = 2; i < 82; i++)
		f[i] = f[i - 1] + f[i - 2];
	for (size_t k = 0; k <= 40; k++) {
		limb_t limb[4][32] = {};
		struct bignum a, b, c, t;

		alone_set(&a, call, limb[0], f[k]);
		alone_set(&b, call, limb[1], f[k + 1]);
		alone_set(&c, call, limb[2], 12345);
		alone_set(&t, call, limb[3], 678);
		if (fib_even(&c, &a, &b, &t))
			return "it returns an error";
		if (alone_value(&c) != f[2 * k] || c.size > 2)
			return k < 2 ? "c is not F(2k) for small k" :
				       "c is not F(2k)";
		if (alone_value(&a) != f[k] || alone_value(&b) != f[k + 1])
			return "it has changed a or b";
	}
	for (int again = 0; again < 12; again++) {
		const char *said = alone_even_of_long(call, alone_long(again));

		if (said)
			return said;
	}
	return "right";
}
