// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: a carry is dropped, which below 1,000 shows at F(785) alone. */
#include "stage.h"

#define BASE 10000

/* Base 10^4, the least significant limb first, with leading zeros. */
struct bignum {
	size_t size;
	u32 limb[];
};

static struct bignum *create(struct fib_call *call, size_t size, u32 value)
{
	struct bignum *a = fib_alloc(call, 1, sizeof(*a) + size * sizeof(u32));

	if (!a)
		return NULL;
	memset(a->limb, 0, size * sizeof(u32));
	a->limb[0] = value;
	a->size = size;
	return a;
}

/* c = a + b; c may be a or b */
static void add(struct bignum *c, const struct bignum *a,
		const struct bignum *b)
{
	u32 carry = 0;

	for (size_t i = 0; i < c->size; i++) {
		u32 sum = (a->limb[i] + b->limb[i] + carry) % BASE;

		/* Too simple: b + carry may be BASE, and sum = a. */
		carry = sum < a->limb[i];
		c->limb[i] = sum;
	}
}

/* c = a * b, and nothing that does not fit */
static void mul(struct bignum *c, const struct bignum *a,
		const struct bignum *b)
{
	memset(c->limb, 0, c->size * sizeof(u32));
	for (size_t i = 0; i < c->size; i++) {
		u32 carry = 0;

		if (!a->limb[i])
			continue;
		for (size_t j = 0; i + j < c->size; j++) {
			u32 t = a->limb[i] * b->limb[j] + c->limb[i + j] +
				carry;

			c->limb[i + j] = t % BASE;
			carry = t / BASE;
		}
	}
}

/* From p = F(k - 1) and a = F(k) to 2k; all of them of one size. */
static void twice(struct bignum *p, struct bignum *a, struct bignum *t,
		  struct bignum *u, struct bignum *v)
{
	add(t, p, p);
	add(t, t, a);
	mul(u, a, t); /* F(2k) = F(k) * (2 * F(k - 1) + F(k)) */
	mul(t, p, p);
	mul(v, a, a);
	add(p, t, v); /* F(2k - 1) = F(k - 1)^2 + F(k)^2 */
	memcpy(a->limb, u->limb, a->size * sizeof(u32));
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	size_t size = n / 19 + 2; /* 4 digits last for 19.1 n */
	struct bignum *a[5]; /* F(k), F(k - 1), and room */
	int i;

	for (i = 0; i < 5; i++) {
		a[i] = create(call, size, i == 1);
		if (!a[i])
			goto out;
	}
	for (int bit = 63 - __builtin_clzll(n | 1); bit >= 0; bit--) {
		if (fib_spend(call, FIB_WORK_LIMIT))
			goto out;
		twice(a[1], a[0], a[2], a[3], a[4]);
		if (n >> bit & 1) {
			add(a[2], a[0], a[1]);
			swap(a[0], a[1]);
			swap(a[0], a[2]);
		}
	}
	f->big = a[0];
out:
	while (i-- > 1)
		fib_free(a[i]);
	if (call->error && i >= 0)
		fib_free(a[0]);
	return call->error;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	size_t count = 0;

	for (size_t i = f->big->size; i-- > 0;) {
		for (u32 unit = BASE / 10; unit; unit /= 10) {
			u32 digit = f->big->limb[i] / unit % 10;

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

	while (size > 1 && !f->big->limb[size - 1])
		size--;
	return size;
}

void fib_release(union fib_value *f)
{
	fib_free(f->big);
}
