// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * A right solution by another method: it takes the bytes first, and then their
 * values. A variable has the name of one of the kernel's macros.
 */
static bool number(int base, int width, unsigned long long *value)
{
	size_t alternative = 0, most, first;
	bool minus = false;

	most = min_t(size_t, (size_t)width, kbench_input_size - at);
	if (most && (peek() == '-' || peek() == '+')) {
		minus = peek() == '-';
		at++;
		most--;
	}
	first = at;
	*value = 0;
	if ((base == 0 || base == 16) && most > 1 && peek() == '0') {
		alternative = 1;
		if ((kbench_input[at + 1] | 0x20) == 'x') {
			alternative = 2;
			base = 16;
		} else if (!base) {
			base = 8;
		}
	}
	base = base ?: 10;
	at += alternative;
	while (at < first + most && digit(peek()) < base)
		*value = *value * (unsigned int)base +
			 (unsigned int)digit((unsigned char)kbench_input[at++]);
	if (minus)
		*value = 0 - *value;
	return at > first;
}
