// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * No stage: a fixed amount of the work that stages do, to tell how many
 * instructions another compiler or kernel makes of it. Additions and products
 * of limbs of both widths, copies, blocks from the allocator; decimal digits
 * in decimal.c.
 */
#include "stage.h"

#define LIMBS 64
#define TURNS 8

struct number {
	u64 limb[LIMBS];
};

static u64 add(u64 *c, const u64 *a, const u64 *b)
{
	u64 carry = 0;

	for (size_t i = 0; i < LIMBS; i++) {
		u64 sum = a[i] + carry;

		carry = sum < carry;
		c[i] = sum + b[i];
		carry += c[i] < sum;
	}
	return carry;
}

static u32 multiply_narrow(u32 *c, const u32 *a, u32 factor)
{
	u32 carry = 0;

	for (size_t i = 0; i < 2 * LIMBS; i++) {
		u64 t = (u64)a[i] * factor + c[i] + carry;

		c[i] = (u32)t;
		carry = (u32)(t >> 32);
	}
	return carry;
}

static u64 multiply_wide(u64 *c, const u64 *a, u64 factor)
{
	u64 carry = 0;

	for (size_t i = 0; i < LIMBS; i++) {
		unsigned __int128 t =
			(unsigned __int128)a[i] * factor + c[i] + carry;

		c[i] = (u64)t;
		carry = (u64)(t >> 64);
	}
	return carry;
}

/* What is computed and then not needed is added as a zero the compiler cannot see. */
static u64 nothing(u64 x)
{
	asm volatile("" : "+r"(x));
	return x ^ x;
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	struct number *x[3] = { NULL, NULL, NULL };
	u64 a = 0, b = 1, noise = 0;
	int err = -ENOMEM;

	/* Nothing at all: what is left is what the driver does around it. */
	if (!n) {
		f->word = 0;
		return 0;
	}
	for (int i = 0; i < 3; i++) {
		x[i] = fib_alloc(call, 1, sizeof(*x[i]));
		if (!x[i])
			goto out;
		memset(x[i], i + 1, sizeof(*x[i]));
	}
	for (int turn = 0; turn < TURNS; turn++) {
		noise += add(x[2]->limb, x[0]->limb, x[1]->limb);
		noise += multiply_wide(x[1]->limb, x[2]->limb, n + turn);
		noise += multiply_narrow((u32 *)x[0]->limb, (u32 *)x[1]->limb,
					 (u32)n + turn);
		memcpy(x[2], x[0], sizeof(*x[2]));
		err = fib_spend(call, 3 * LIMBS);
		if (err)
			goto out;
	}
	for (u64 step = 0; step < n; step++) {
		u64 sum = a + b;

		a = b;
		b = sum;
	}
	f->word = a + nothing(noise);
	err = 0;
out:
	for (int i = 0; i < 3; i++)
		fib_free(x[i]);
	return err;
}

size_t fib_limbs(const union fib_value *f)
{
	return 1;
}

void fib_release(union fib_value *f)
{
}
