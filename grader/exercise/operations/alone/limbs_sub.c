// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	const limb_t zero = 0, one = 1;

	for (int again = 0; again < 3000; again++) {
		size_t a_size = again % 9 + 1, b_size = again / 9 % a_size + 1;
		limb_t a[9], b[9], c[9], largest, borrow;
		unsigned __int128 carry = 0;

		/* The largest limb, binary or decimal. */
		limbs_sub(&largest, &zero, 1, &one, 1);
		for (size_t i = 0; i < 9; i++) {
			a[i] = alone_random() %
			       ((unsigned __int128)largest + 1);
			b[i] = alone_random() %
			       ((unsigned __int128)largest + 1);
		}
		borrow = limbs_sub(c, a, a_size, b, b_size);
		for (size_t i = 0; i < a_size; i++) {
			carry += c[i] +
				 (unsigned __int128)(i < b_size ? b[i] : 0);
			if (c[i] > largest ||
			    carry % ((unsigned __int128)largest + 1) != a[i])
				return "c[] is not the difference";
			carry /= (unsigned __int128)largest + 1;
		}
		if (borrow != carry)
			return "it does not return the borrow beyond the top limb";
	}
	return "right";
}
