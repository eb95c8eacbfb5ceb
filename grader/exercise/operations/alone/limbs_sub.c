// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const unsigned __int128 one = 1;
	const unsigned __int128 base = alone_base ?: one << 8 * sizeof(limb_t);

	for (int again = 0; again < 3000; again++) {
		static limb_t a[alone_most + 1], b[alone_most + 1];
		static limb_t first[alone_most + 1], second[alone_most + 1];
		static limb_t other[alone_most + 1];
		limb_t *const place[] = { other, a, b };
		size_t a_size = alone_size(again, 9);
		size_t b_size = again / 9 % a_size + 1;
		unsigned __int128 carry = 0;
		limb_t borrow, *c;

		/* Many are equal, so that borrows run far. */
		for (size_t i = 0; i < a_size; i++) {
			a[i] = alone_random() % base;
			b[i] = alone_random() % 3 ? a[i] :
						    alone_random() % base;
		}
		memcpy(first, a, sizeof(a));
		memcpy(second, b, sizeof(b));
		c = place[alone_in_place ? alone_random() % 3 : 0];
		c[a_size] = again;
		borrow = limbs_sub(c, a, a_size, b, b_size);
		for (size_t i = 0; i < a_size; i++) {
			carry += c[i];
			carry += i < b_size ? second[i] : 0;
			if (c[i] >= base || carry % base != first[i])
				return "c[] is not the difference";
			carry /= base;
		}
		if (borrow != carry)
			return "it does not return the borrow beyond the top limb";
		if (c[a_size] != (limb_t)again)
			return "it writes more than a_size limbs";
	}
	return "right";
}
