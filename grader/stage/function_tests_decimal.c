// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The operations of stages 8 to 11, on decimal numbers.
 */
#include "bignum.h"
#include "function_tests.h"

/* What is in the limbs of a result before: no limb, so that it shows. */
#define FILL 0xbe
#define UNWRITTEN ((limb_t)-1 / 255 * FILL)

static size_t limbs_of(const char *text)
{
	return (strlen(text) + LIMB_DIGITS - 1) / LIMB_DIGITS;
}

/* A new number, with room for @size limbs. */
static struct bignum *new_number(struct fib_call *call, size_t size)
{
	struct bignum *a = bn_create(call, 1, size);

	if (!a) {
		printf("ENOMEM\n");
		exit(0);
	}
	memset(a->limb, FILL, size * sizeof(*a->limb));
	return a;
}

/* The number @text stands for, with room for @capacity limbs or its own. */
static struct bignum *parse(struct fib_call *call, const char *text,
			    size_t capacity)
{
	size_t length = strlen(text), size = limbs_of(text);
	struct bignum *a = new_number(call, max(size, capacity));

	memset(a->limb, 0, size * sizeof(*a->limb));
	a->size = size;
	for (size_t i = 0; i != length; i++) {
		limb_t *limb = &a->limb[(length - 1 - i) / LIMB_DIGITS];

		*limb = *limb * 10 + (limb_t)(text[i] - '0');
	}
	return a;
}

static void print_number(const struct bignum *a)
{
	if (!a->size || a->size > a->capacity) {
		printf("SIZE %zu %zu", a->size, a->capacity);
		return;
	}
	for (size_t i = 0; i < a->size; i++) {
		if (a->limb[i] >= LIMB_BASE) {
			printf("LIMB %zu ", i);
			if (a->limb[i] == UNWRITTEN)
				printf("unwritten");
			else
				printf("%llu", a->limb[i]);
			return;
		}
	}
	if (a->size > 1 && !a->limb[a->size - 1]) {
		printf("UNTRIMMED");
		return;
	}
	printf("%llu", a->limb[a->size - 1]);
	for (size_t i = a->size - 1; i-- > 0;)
		printf("%0*llu", LIMB_DIGITS, a->limb[i]);
}

void print_value(const union fib_value *f)
{
	print_number(f->big);
}

static bool same(const struct bignum *a, const struct bignum *b)
{
	return a->size == b->size &&
	       !memcmp(a->limb, b->limb, a->size * sizeof(*a->limb));
}

/* The name of an operation, whatever its result goes into. */
static bool is(const struct request *r, const char *name)
{
	size_t length = strcspn(r->op, "-");

	return strlen(name) == length && !strncmp(r->op, name, length);
}

/* The limbs that the result must have room for, and no more. */
static size_t room_for(const struct request *r)
{
	size_t a = limbs_of(r->a), b = limbs_of(r->b);

	if (is(r, "mul"))
		return a + b;
	if (is(r, "square"))
		return 2 * a;
	if (is(r, "add") || is(r, "increase"))
		return max(a, b) + 1;
	return a;
}

/* c, which may be a or b, becomes the result. */
static int operate(const struct request *r, struct bignum *c, struct bignum *a,
		   struct bignum *b)
{
	if (is(r, "mul"))
		return bn_mul(c, a, b);
	if (is(r, "square"))
		return bn_square(c, a);
	if (is(r, "add"))
		bn_add(c, a, b);
	else if (is(r, "sub"))
		bn_sub(c, a, b);
#if FIBDRV_STAGE >= 9
	else if (is(r, "increase"))
		bn_increase(c, b->limb[0]);
	else if (is(r, "decrease"))
		bn_decrease(c, b->limb[0]);
	else if (is(r, "div5"))
		bn_div5(c, a);
#endif
	else
		printf("UNKNOWN ");
	return 0;
}

static void decimal(struct fib_call *call, const struct request *r)
{
	union fib_value f;

	apart(true);
	f.big = parse(call, r->a, 0);
	apart(false);
	protect(true);
	do_decimal(call, &f, strtoul(r->b, NULL, 10));
	protect(false);
	bn_free(f.big);
}

void run(struct fib_call *call, const struct request *r)
{
	const char *dash = strchr(r->op, '-'), *b_text = *r->b ? r->b : "1";
	bool into_b = dash && dash[1] == 'b';
	bool one = dash && (dash[1] == 's' || dash[1] == 't');
	bool into_a = is(r, "increase") || is(r, "decrease") ||
		      (dash && (dash[1] == 'a' || dash[1] == 't'));
	size_t room = room_for(r);
	struct bignum *a, *b, *c, *a_before, *b_before;
	int err;

	if (is(r, "decimal")) {
		decimal(call, r);
		return;
	}
	apart(!into_a);
	a = parse(call, r->a, into_a ? room : 0);
	apart(!into_b);
	b = parse(call, b_text, into_b ? room : 0);
	apart(false);
	a_before = parse(call, r->a, 0);
	b_before = parse(call, b_text, 0);
	c = into_a ? a : into_b ? b : new_number(call, room);
	protect(true);
	err = operate(r, c, a, one ? a : b);
	protect(false);
	if (err)
		printf("ERROR %d", err);
	else
		print_number(c);
	if ((a != c && !same(a, a_before)) || (b != c && !same(b, b_before)))
		printf(" CHANGED");
	if (c != a && c != b)
		bn_free(c);
	bn_free(b_before);
	bn_free(a_before);
	bn_free(b);
	bn_free(a);
}
