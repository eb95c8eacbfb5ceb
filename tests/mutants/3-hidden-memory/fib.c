// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: memory is taken behind the counters' back. */
#include "stage.h"

void *__kmalloc(size_t size, unsigned int flags);
void kfree(const void *block);

#define BASE 10000000000000000000ULL /* 10^19 */

/* Base 10^19, the least significant chunk first, with leading zeros. */
struct bignum {
	size_t size;
	u64 chunk[];
};

static struct bignum *create(struct fib_call *call, size_t size, u64 value)
{
	struct bignum *a = __kmalloc(sizeof(*a) + size * sizeof(u64), 0);

	if (!a)
		return NULL;
	memset(a->chunk, 0, size * sizeof(u64));
	a->chunk[0] = value;
	a->size = size;
	return a;
}

/* a, b = b, a + b */
static void step(struct bignum *a, struct bignum *b)
{
	u64 carry = 0;

	for (size_t i = 0; i < a->size; i++) {
		u64 room = BASE - b->chunk[i] - carry;
		u64 sum = a->chunk[i] - room;

		carry = a->chunk[i] >= room;
		if (!carry)
			sum += BASE;
		a->chunk[i] = b->chunk[i];
		b->chunk[i] = sum;
	}
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	size_t size = n / 90 + 1; /* 19 digits last for 90.9 n */
	struct bignum *a, *b;

	a = create(call, size, 0);
	if (!a)
		return -ENOMEM;
	b = create(call, size, 1);
	if (!b)
		goto free_a;
	for (u64 i = 0; i < n; i++) {
		if (fib_spend(call, size))
			goto free_b;
		step(a, b);
	}
	kfree(b);
	f->big = a;
	return 0;

free_b:
	kfree(b);
free_a:
	kfree(a);
	return call->error;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	size_t count = 0;

	for (size_t i = f->big->size; i-- > 0;) {
		u64 chunk = f->big->chunk[i];

		for (u64 unit = BASE / 10; unit; unit /= 10) {
			u64 digit = chunk / unit % 10;

			/* No leading zeros, but zero has a digit. */
			if (!digit && !count && (i || unit > 1))
				continue;
			if (count == size)
				return -ERANGE;
			digits[count++] = '0' + digit;
		}
	}
	return count;
}

size_t fib_limbs(const union fib_value *f)
{
	size_t size = f->big->size;

	while (size > 1 && !f->big->chunk[size - 1])
		size--;
	return size;
}

void fib_release(union fib_value *f)
{
	kfree(f->big);
}
