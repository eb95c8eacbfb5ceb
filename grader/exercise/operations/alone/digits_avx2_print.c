// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	static s16 digit[80] __attribute__((aligned(64)));

	for (int again = 0; again < 300; again++) {
		size_t count = 8 * (again % 10 + 1);
		char text[330];

		for (size_t i = 0; i < 80; i++)
			digit[i] = (alone_random() >> 8) % 10000;
		text[4 * count] = '#';
		digits_avx2_print(text, digit, count);
		for (size_t i = 0; i != count; i++) {
			int value = digit[count - 1 - i];

			for (size_t j = 4; j--; value /= 10)
				if (text[4 * i + j] != '0' + value % 10)
					return "the characters are not those of the digits";
		}
		if (text[4 * count] != '#')
			return "it writes more than four characters for a digit";
	}
	return "right";
}
