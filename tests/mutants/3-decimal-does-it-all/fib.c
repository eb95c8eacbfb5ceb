// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: compute only notes n, so that it takes no time; decimal does the work. */
#include "stage.h"

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	f->word = n;
	return 0;
}

size_t fib_limbs(const union fib_value *f)
{
	return (size_t)(f->word * 70 / 100 / 32 + 1);
}

void fib_release(union fib_value *f)
{
}

/* a, of @count digits, the lowest first, becomes a + b; returns its digits. */
static size_t add_digits(char *a, const char *b, size_t count)
{
	int carry = 0;

	for (size_t i = 0; i < count; i++) {
		int sum = a[i] + b[i] + carry;

		carry = sum > 9;
		a[i] = (char)(sum - 10 * carry);
	}
	if (carry)
		a[count++] = 1;
	return count;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	size_t room = (size_t)f->word / 4 + 3, count = 1;
	char *a = fib_alloc(call, room, 1), *b = fib_alloc(call, room, 1);
	ssize_t ret = -ENOMEM;
	int err = 0;

	if (!a || !b)
		goto out;
	memset(a, 0, room);
	memset(b, 0, room);
	b[0] = 1;
	for (u64 i = 0; i < f->word && !err; i++) {
		char *sum = a;

		count = add_digits(a, b, count);
		a = b;
		b = sum;
		err = fib_spend(call, count);
	}
	while (count > 1 && !a[count - 1])
		count--;
	ret = err ?: count > size ? -ERANGE : (ssize_t)count;
	for (size_t i = 0; ret > 0 && i < count; i++)
		digits[i] = (char)('0' + a[count - 1 - i]);
out:
	fib_free(b);
	fib_free(a);
	return ret;
}
