// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * F(n) by pairs of Lucas numbers: one step for each bit of n except the last
 * one, from the top bit down. L(0) = 2, L(1) = 1, and each further Lucas number
 * is the sum of the two before it. F and L are the Lucas sequences U and V for
 * P = 1 and Q = -1, and these steps are the Lucas chain: Crandall and
 * Pomerance, "Prime Numbers", 3.6.
 *
 *	L(2k)     = L(k)^2 - 2 * (-1)^k
 *	L(2k + 2) = L(k + 1)^2 + 2 * (-1)^k
 *	L(2k + 1) = L(2k + 2) - L(2k)
 *
 * A step needs two squares; a step with Fibonacci numbers needs a product, too.
 * The last step converts back to Fibonacci numbers:
 *
 *	5 * F(k)     = 2 * L(k + 1) - L(k)
 *	5 * F(k + 1) = 2 * L(k) + L(k + 1)
 *	F(2k)        = L(k) * F(k)
 *	F(2k + 1)    = L(k) * F(k + 1) - (-1)^k
 */
#include "digits.h"
#include "fft.h"
#include "vector.h"

/* From this n on, transforms in floating point are faster, if there is AVX2. */
#define FFT_N 25000
/*
 * If n >= FFT_N, L(k) is computed in limbs up to this k. The value must be from
 * 86, the largest k for one limb, to FFT_N / 4, so that there is enough
 * capacity.
 */
#define BEGIN_N 6000

/* L(LIMB_N) fits into a limb. */
#define LIMB_N 86

/*
 * Compute L(k) and L(k + 1) while each fits in one limb. k is made of the top
 * bits of n. A step from k leads to L(2k + 2) at most.
 *
 * Return: the number of bits of n that are left, including the last one.
 */
static int begin_with_limbs(limb_t *a, limb_t *b, u64 n)
{
	/* The number of bits of n; n | 1, because clz is undefined for 0. */
	int bits = 64 - __builtin_clzll(n | 1);
	limb_t x = 2, y = 1;
	u64 k = 0;

	while (bits > 1 && 2 * k + 2 <= LIMB_N) {
		limb_t two = k & 1 ? -2 : 2;
		limb_t even = x * x - two, next = y * y + two;

		bits--;
		k = n >> bits;
		x = k & 1 ? next - even : even;
		y = k & 1 ? next : next - even;
	}
	*a = x;
	*b = y;
	return bits;
}

/* c = a^2 - 2 or, if not @minus, a^2 + 2: L(2k) or L(2k + 2). */
static int lucas_double(struct bignum *c, const struct bignum *a, bool minus)
{
	int err;

	err = bn_square(c, a);
	if (err)
		return err;
	if (minus)
		bn_decrease(c, 2);
	else
		bn_increase(c, 2);
	return 0;
}

/* c = F(2k) or, if n is odd, F(2k + 1), from a = L(k) and b = L(k + 1) */
static int fib_from_lucas(struct bignum *c, const struct bignum *a,
			  const struct bignum *b, struct bignum *t, u64 n)
{
	int err;

	if (n & 1) {
		bn_add(t, a, a);
		bn_add(t, t, b);
	} else {
		bn_add(t, b, b);
		bn_sub(t, t, a);
	}
	bn_div5(t, t);
	err = bn_mul(c, a, t);
	if (err || !(n & 1))
		return err;
	if (n & 2)
		bn_increase(c, 1);
	else
		bn_decrease(c, 1);
	return 0;
}

/*
 * Return a capacity for every number in the computation of F(n).
 *
 * phi^86 < B, since phi^86 + phi^-86 is the Lucas number
 * L(86) = 939587134549734843, and B = 10^18. F(n) <= phi^n < B^(n / 86), which
 * fits into n / 86 + 1 limbs; the quotient is rounded down. All earlier numbers
 * are at most L(n / 2 + 2) + 2 or 3 L(n / 2 + 1), and so less than
 * 8 * phi^(n / 2). They need at most as many limbs, or one more if n < 86.
 *
 * One more limb, because a product needs the limbs of both factors while it is
 * computed, even if its top limb is then 0. One more limb is enough, because
 * factors of s and t limbs are at least B^(s - 1) and B^(t - 1).
 *
 * This plain 64-bit division does not link on a 32-bit kernel.
 */
static size_t limbs_needed(u64 n)
{
	return n / 86 + 2;
}

/**
 * struct pair - numbers for the steps
 * @a: L(k), where k is made of the bits of n processed so far
 * @b: L(k + 1)
 * @c: the next number computed from @a
 * @d: the next number computed from @b
 */
struct pair {
	struct bignum *a, *b, *c, *d;
};

/* Compute L(k) and L(k + 1), where k is n without its last @until >= 1 bits. */
static __always_inline int lucas_pair(struct pair *p, u64 n, int until)
{
	int bits = begin_with_limbs(p->a->limb, p->b->limb, n), err;

	for (int i = bits - 1; i >= until; i--) {
		bool odd = n & 2ULL << i; /* true if k is odd */

		err = lucas_double(p->c, p->a, !odd);
		if (err)
			return err;
		err = lucas_double(p->d, p->b, odd);
		if (err)
			return err;
		if (n & 1ULL << i) {
			bn_sub(p->a, p->d, p->c);
			swap(p->b, p->d);
		} else {
			bn_sub(p->b, p->d, p->c);
			swap(p->a, p->c);
		}
	}
	return 0;
}

/* Compute F(n) in limbs, as stage 11 does. */
static int compute_limbs(struct fib_call *call, u64 n, union fib_value *f)
{
	struct bignum *number; /* all numbers are in one block */
	struct pair p;
	int err;

	number = bn_create(call, 4, limbs_needed(n));
	if (IS_ERR(number))
		return PTR_ERR(number);
	p = (struct pair){ &number[0], &number[1], &number[2], &number[3] };
	err = lucas_pair(&p, n, 1);
	if (err)
		goto free_numbers;
	err = fib_from_lucas(p.c, p.a, p.b, p.d, n);
	if (err)
		goto free_numbers;
	/* The first number frees the whole block. */
	if (p.c != number)
		bn_swap(p.c, number);
	f->big = number;
	return 0;

free_numbers:
	bn_free(number);
	return err;
}

/* Convert L(k) and L(k + 1), which were computed in limbs, to digits. */
static int digits_begin(struct fib_call *call, struct digits *a,
			struct digits *b, u64 n, int until)
{
	struct bignum *number;
	struct pair p;
	int err;

	number = bn_create(call, 4, limbs_needed(2 * BEGIN_N));
	if (IS_ERR(number))
		return PTR_ERR(number);
	p = (struct pair){ &number[0], &number[1], &number[2], &number[3] };
	err = lucas_pair(&p, n, until);
	if (!err) {
		digits_from_limbs(a, p.a);
		digits_from_limbs(b, p.b);
	}
	bn_free(number);
	return err;
}

/* a, b = L(2k), L(2k + 1) or L(2k + 1), L(2k + 2), from L(k) and L(k + 1) */
static int digits_step(struct fib_call *call, struct digits *a,
		       struct digits *b, struct fft *fft, bool odd, bool next)
{
	int err;

	err = fft_mul(call, a, a, a, odd ? 2 : -2, fft);
	if (err)
		return err;
	err = fft_mul(call, b, b, b, odd ? -2 : 2, fft);
	if (err)
		return err;
	return digits_combine(call, next ? a : b, -1, a, 1, b);
}

/* a = F(n), from a = L(k) and b = L(k + 1), with 2k + 1 or 2k = n. */
static int digits_end(struct fib_call *call, struct digits *a, struct digits *b,
		      struct fft *fft, u64 n)
{
	int addend = n & 1 ? (n & 2 ? 1 : -1) : 0;
	int err;

	if (n & 1)
		err = digits_combine(call, b, 2, a, 1, b);
	else
		err = digits_combine(call, b, -1, a, 2, b);
	if (err)
		return err;
	err = digits_div5(call, b);
	if (err)
		return err;
	err = fft_mul(call, a, a, b, addend, fft);
	if (err)
		return err;
	return digits_make_unique(call, a);
}

/*
 * Compute F(n) in digits. phi^19 + phi^-19 is the Lucas number L(19) = 9349,
 * which is less than DIGIT_BASE, so phi^n fits into n / 19 digits, rounded up.
 * One more digit is for the sign. All numbers before F(n) are less than
 * 8 * phi^(n / 2).
 */
static noinline int compute_digits(struct fib_call *call, u64 n,
				   union fib_value *f)
{
	size_t whole = 2 * (n / 38 + 2);
	size_t half = digits_room(fft_digits(whole));
	struct digits_block {
		struct bignum number;
		struct digits a, b;
		s16 digit[] __aligned(16);
	} *block;
	struct fft *fft;
	int until = 1, err;

	block = fib_alloc(call, 1,
			  size_add(size_add(sizeof(*block),
					    array_size(2 * half, sizeof(s16))),
				   fft_room(whole)));
	if (!block)
		return -ENOMEM;
	block->number.digits = &block->a;
	block->a.digit = block->digit;
	block->b.digit = block->digit + half;
	while (n >> until > BEGIN_N)
		until++;
	err = digits_begin(call, &block->a, &block->b, n, until);
	if (err)
		goto free_block;
	fft = fft_create(call, block->digit + 2 * half, whole);
	if (IS_ERR(fft)) {
		err = PTR_ERR(fft);
		goto free_block;
	}
	while (--until > 0) {
		err = digits_step(call, &block->a, &block->b, fft,
				  n >> until & 2, n >> until & 1);
		if (err)
			goto free_block;
	}
	err = digits_end(call, &block->a, &block->b, fft, n);
	if (err)
		goto free_block;
	/* Return the number of limbs that F(n) would have in base 10^18. */
	block->number.size =
		(digits_width(&block->a) + LIMB_DIGITS - 1) / LIMB_DIGITS;
	f->big = &block->number;
	return 0;

free_block:
	fib_free(block);
	return err;
}

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	if (n >= FFT_N && fib_has_avx2())
		return compute_digits(call, n, f);
	return compute_limbs(call, n, f);
}

size_t fib_limbs(const union fib_value *f)
{
	return f->big->size;
}

void fib_release(union fib_value *f)
{
	bn_free(f->big);
}
