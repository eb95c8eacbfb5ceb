// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	column_t c[32], old[32], middle[16];

	for (size_t i = 0; i < 32; i++)
		old[i] = c[i] = (column_t)alone_random() << 64 | alone_random();
	for (size_t i = 0; i < 16; i++)
		middle[i] = (column_t)alone_random() << 64 | alone_random();
	add_middle(c, middle, 8);
	for (size_t i = 0; i < 32; i++) {
		column_t want = old[i];

		if (i >= 8 && i < 24)
			want += middle[i - 8] - old[i - 8] - old[i + 8];
		if (c[i] != want)
			return "c[] is not the sum with the middle product";
	}
	return "right";
}
