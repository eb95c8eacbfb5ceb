// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 3000; again++) {
		static limb_t b[alone_most], c[alone_most];
		size_t c_size = alone_size(again, 9);
		size_t b_size = again / 9 % c_size + 1;
		u64 sum = 0;

		/* A third of the limbs are 0, so that a carry runs through them. */
		for (size_t i = 0; i < c_size; i++)
			b[i] = alone_random() % 3 ? alone_random() : 0;
		limbs_complement(c, c_size, b, b_size);
		for (size_t at = 0; at < c_size; at++) {
			sum += (u64)c[at] + (at < b_size ? b[at] : 0);
			if ((limb_t)sum)
				return "c[] + b[] is not B^c_size";
			sum >>= 32;
		}
	}
	return "right";
}
