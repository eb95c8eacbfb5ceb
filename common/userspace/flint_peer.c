// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * FLINT's decimal arithmetic (its module radix, from FLINT 3.6 on) with the
 * interface of a stage. It computes the same pairs of Lucas numbers, in limbs
 * of 10^19. It is a shared object for compare_gmp.c.
 */
#include <flint/flint.h>
#include <flint/radix.h>
#include <stdlib.h>

#include "userspace/host.h"

#define DIGITS 19

struct number {
	nn_ptr limb;
	slong size;
};

/* A stage may define struct bignum as it likes. */
struct bignum {
	struct number a, b, c, d;
	ulong limb[];
};

static radix_t radix;

static void __attribute__((constructor)) begin(void)
{
	radix_init(radix, 10, DIGITS);
}

const char *peer_version(void)
{
	return FLINT_VERSION;
}

static void trim(struct number *a)
{
	while (a->size > 1 && !a->limb[a->size - 1])
		a->size--;
}

/* c = a * b + addend, which must not be negative */
static void mul_add(struct number *c, const struct number *a,
		    const struct number *b, int addend)
{
	const struct number *x = a->size < b->size ? b : a;
	const struct number *y = a->size < b->size ? a : b;
	ulong size = addend < 0 ? -addend : addend;

	radix_mul(c->limb, x->limb, x->size, y->limb, y->size, radix);
	c->size = x->size + y->size;
	if (addend > 0)
		radix_add(c->limb, c->limb, c->size, &size, 1, radix);
	if (addend < 0)
		radix_sub(c->limb, c->limb, c->size, &size, 1, radix);
	trim(c);
}

/* c = a - b */
static void sub(struct number *c, const struct number *a,
		const struct number *b)
{
	radix_sub(c->limb, a->limb, a->size, b->limb, b->size, radix);
	c->size = a->size;
	trim(c);
}

/* c = a + b */
static void add(struct number *c, const struct number *a,
		const struct number *b)
{
	const struct number *x = a->size < b->size ? b : a;
	const struct number *y = a->size < b->size ? a : b;
	ulong carry =
		radix_add(c->limb, x->limb, x->size, y->limb, y->size, radix);

	c->size = x->size;
	if (carry)
		c->limb[c->size++] = carry;
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	size_t room = n / 90 + 8; /* phi^90 < 10^19 */
	struct bignum *all;
	struct number a, b, c, d;
	int bits = 64 - __builtin_clzll(n | 1);
	size_t bytes = sizeof(*all) + 4 * room * sizeof(ulong);

	all = malloc(bytes);
	if (!all)
		return -ENOMEM;
	/* The temporary memory of FLINT is not included in the peak. */
	call->peak_bytes = bytes;
	a = (struct number){ all->limb, 1 };
	b = (struct number){ all->limb + room, 1 };
	c = (struct number){ all->limb + 2 * room, 1 };
	d = (struct number){ all->limb + 3 * room, 1 };
	a.limb[0] = 2;
	b.limb[0] = 1;
	while (--bits > 0) {
		int two = n >> bits & 2 ? -2 : 2;

		mul_add(&c, &a, &a, -two);
		mul_add(&d, &b, &b, two);
		if (n >> bits & 1) {
			sub(&a, &d, &c);
			swap(b, d);
		} else {
			sub(&b, &d, &c);
			swap(a, c);
		}
	}
	if (n & 1) {
		add(&c, &a, &a);
		add(&c, &c, &b);
	} else {
		add(&c, &b, &b);
		sub(&c, &c, &a);
	}
	radix_divexact_1(c.limb, c.limb, c.size, 5, radix);
	trim(&c);
	mul_add(&d, &a, &c, n & 1 ? (n & 2 ? 1 : -1) : 0);
	all->a = d;
	f->big = all;
	return 0;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	radix_get_str_decimal(digits, f->big->a.limb, f->big->a.size, 0, radix);
	return strlen(digits);
}

size_t fib_limbs(const union fib_value *f)
{
	return f->big->a.size;
}

void fib_release(union fib_value *f)
{
	free(f->big);
}
