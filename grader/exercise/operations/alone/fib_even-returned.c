// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
static u64 alone_value(const struct bignum *a)
{
	return a->limb[0] | (a->size > 1 ? (u64)a->limb[1] << 32 : 0);
}

static void alone_set(struct bignum *a, struct fib_call *call, limb_t *limb,
		      u64 value)
{
	limb[0] = value;
	limb[1] = value >> 32;
	*a = (struct bignum){
		.limb = limb,
		.size = limb[1] ? 2 : 1,
		.call = call,
	};
}

static const char *alone_even_of_long(struct fib_call *call)
{
	static union {
		u32 word[alone_words];
		limb_t limb[alone_words];
	} memory[2];
	struct bignum number[2], *c;
	u64 a, b, got;

	alone_fibonacci(alone_k, memory[0].word, memory[1].word);
	a = alone_residue(memory[0].word, sizeof(memory[0].word));
	b = alone_residue(memory[1].word, sizeof(memory[1].word));
	for (int i = 0; i < 2; i++)
		number[i] = (struct bignum){
			.limb = memory[i].limb,
			.size = alone_bytes(memory[i].word) / sizeof(limb_t),
			.call = call,
		};
	c = fib_even(&number[0], &number[1]);
	if (IS_ERR(c))
		return "it returns an error";
	got = alone_residue(c->limb, c->size * sizeof(limb_t));
	bn_free(c);
	return got == alone_mod(a,
				alone_mod(2, b,
					  alone_mod(a, (1ULL << 61) - 2, 0)),
				0) ?
		       "right" :
		       "the result is not F(2k) for large k";
}

const char *alone(struct fib_call *call)
{
	u64 f[82] = { 0, 1 };

	for (size_t i = 2; i < 82; i++)
		f[i] = f[i - 1] + f[i - 2];
	for (size_t k = 0; k <= 40; k++) {
		limb_t limb[2][2];
		struct bignum a, b, *c;

		alone_set(&a, call, limb[0], f[k]);
		alone_set(&b, call, limb[1], f[k + 1]);
		c = fib_even(&a, &b);
		if (IS_ERR(c))
			return "it returns an error";
		if (alone_value(c) != f[2 * k] || c->size > 2)
			return k < 2 ? "the result is not F(2k) for small k" :
				       "the result is not F(2k)";
		bn_free(c);
		if (alone_value(&a) != f[k] || alone_value(&b) != f[k + 1])
			return "it has changed a or b";
	}
	return alone_even_of_long(call);
}
