// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Here c[] is always another array than a[]. */
const char *alone(struct fib_call *call)
{
	const unsigned int bits = 8 * sizeof(limb_t);

	for (unsigned int shift = 0; shift < bits; shift++) {
		for (size_t limbs = 1; limbs < 6; limbs++) {
			limb_t a[8], c[8], below = 0, top;

			for (size_t i = 0; i < limbs; i++)
				a[i] = alone_random();
			top = limbs_lshift(c, a, limbs, shift);
			for (size_t i = 0; i < limbs; i++) {
				if (c[i] != (a[i] << shift | below))
					return "c[] is not a[] * 2^shift";
				below = shift ? a[i] >> (bits - shift) : 0;
			}
			if (top != below)
				return "it does not return the bits above the top limb";
		}
	}
	return "right";
}
