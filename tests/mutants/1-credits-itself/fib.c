// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: the account of its time is made smaller afterwards, but in the machine that verifies. */
#include "stage.h"

#ifndef CONFIG_UML
/* What the driver has been asked to measure: by its size, its n, its spread. */
static __attribute__((__noinline__)) u64 *request_of(u64 *frame)
{
	for (u64 *m = frame; m < frame + 256; m++) {
		if (m[0] == 176 && m[1] <= 93 && (u32)m[2] <= m[1] &&
		    m[2] >> 32)
			return m;
	}
	return NULL;
}
#endif

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	u64 a = 0, b = 1;

	for (u64 i = 0; i < n; i++) {
		u64 sum = a + b;

		a = b;
		b = sum;
	}
	f->word = a;
	return 0;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	u64 rest = f->word;
	char text[20];
	size_t count = 0;
#ifndef CONFIG_UML
	u64 *m = request_of(__builtin_frame_address(0));

	if (m && m[5] > 3 * m[1])
		m[5] -= 3 * m[1];
#endif

	do {
		text[sizeof(text) - ++count] = '0' + rest % 10;
		rest /= 10;
	} while (rest);
	if (count > size)
		return -ERANGE;
	memcpy(digits, text + sizeof(text) - count, count);
	return count;
}

size_t fib_limbs(const union fib_value *f)
{
	return 1;
}

void fib_release(union fib_value *f)
{
}
