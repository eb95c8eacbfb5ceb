// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 300; again++) {
		static limb_t value[alone_most];
		size_t size = alone_size(again, 17);
		size_t wanted = alone_size(again + again / 17 % 10, 18);
		size_t most = size > wanted ? size : wanted;
		struct bignum *a = bn_create(call, size);
		limb_t *before = a->limb;
		const char *wrong = "";
		size_t capacity;

		a->size = alone_random() % size + 1;
		for (size_t i = 0; i < a->size; i++)
			a->limb[i] = value[i] = alone_random();
		size = a->size;
		if (bn_reserve(a, wanted))
			return "it fails although there is memory";
		capacity = a->capacity;
		if (a->size != size ||
		    memcmp(a->limb, value, size * sizeof(*value)))
			wrong = "the value of the number changes";
		else if (a->capacity < most)
			wrong = "the capacity is less than the old or the new one";
		else if (alone_held() <
			 sizeof(*a) + a->capacity * sizeof(limb_t))
			wrong = "the capacity is more than the memory";
		else if (bn_reserve(a, 1UL << 46) != -alone_enomem ||
			 a->size != size || a->capacity != capacity)
			wrong = "it does not return -ENOMEM for too many limbs, or changes the number";
		else if (most != wanted && a->limb != before)
			wrong = "it allocates although the capacity is large enough";
		bn_free(a);
		if (*wrong)
			return wrong;
	}
	return "right";
}
