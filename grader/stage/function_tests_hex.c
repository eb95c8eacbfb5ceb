// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The operations of stages 1 to 7, on hexadecimal numbers.
 */
#include "function_tests.h"
#if FIBDRV_STAGE >= 3
#include "bignum.h"
#endif

#if FIBDRV_STAGE < 3

void print_value(const union fib_value *f)
{
	printf("%llx", f->word);
}

void run(struct fib_call *call, const struct request *r)
{
	union fib_value f = { .word = strtoull(r->a, NULL, 16) };

	if (!strcmp(r->op, "decimal"))
		do_decimal(call, &f, strtoul(r->b, NULL, 10));
	else
		printf("UNKNOWN");
}

#else

static void print_number(const struct bignum *a)
{
	if (!a->size || (a->size > 1 && !a->limb[a->size - 1])) {
		printf("UNTRIMMED");
		return;
	}
	printf("%llx", (u64)a->limb[a->size - 1]);
	for (size_t i = a->size - 1; i-- > 0;)
		printf("%0*llx", LIMB_BITS / 4, (u64)a->limb[i]);
}

void print_value(const union fib_value *f)
{
	print_number(f->big);
}

#if FIBDRV_STAGE >= 7
/* Three numbers, each of which must have its room for itself; the first of them. */
static struct bignum *create(struct fib_call *call, size_t size)
{
	struct bignum *a = bn_create(call, 3, size);

	for (size_t i = 0; a && i < 3; i++)
		memset(a[i].limb, (int)i, size * sizeof(limb_t));
	for (size_t i = 0; a && i < 3 * size; i++) {
		limb_t want = (limb_t)-1 / 255 * (i / size);
		bool each_has_its_own_limbs =
			a[i / size].limb[i % size] == want;

		assert(each_has_its_own_limbs);
	}
	return a;
}
#else
static struct bignum *create(struct fib_call *call, size_t size)
{
	return bn_create(call, size);
}
#endif

/* A new number, 0, with room for @size limbs. */
static struct bignum *new_number(struct fib_call *call, size_t size)
{
	struct bignum *a = create(call, size);

	if (!a) {
		printf("ENOMEM\n");
		exit(0);
	}
	return a;
}

/* The number @hex stands for, with room for @more limbs beyond its own. */
static struct bignum *parse(struct fib_call *call, const char *hex, size_t more)
{
	const size_t width = LIMB_BITS / 4;
	size_t length = strlen(hex);
	size_t size = (length + width - 1) / width;
	struct bignum *a = new_number(call, size + more);

	memset(a->limb, 0, size * sizeof(*a->limb));
	a->size = size;
	for (size_t i = 0; i != length; i++) {
		char digit[2] = { hex[length - 1 - i] };
		limb_t value = strtoul(digit, NULL, 16);

		a->limb[i / width] |= value << 4 * (i % width);
	}
	return a;
}

static bool same(const struct bignum *a, const struct bignum *b)
{
	return a->size == b->size &&
	       !memcmp(a->limb, b->limb, a->size * sizeof(*a->limb));
}

/* c, which may be a or b, becomes the result; or another number is it. */
static struct bignum *operate(const char *op, size_t bits, struct bignum *c,
			      struct bignum *a, struct bignum *b)
{
#if FIBDRV_STAGE == 3
#define INTO(function, ...) (c = function(__VA_ARGS__))
	bn_free(c);
#elif FIBDRV_STAGE < 7
#define INTO(function, ...) (err = function(c, __VA_ARGS__))
	int err = 0;
#else
#define INTO(function, ...) (function(c, __VA_ARGS__))
#endif
	if (!strncmp(op, "add", 3))
		INTO(bn_add, a, b);
	else if (!strncmp(op, "sub", 3))
		INTO(bn_sub, a, b);
	else if (!strncmp(op, "lshift", 6))
		INTO(bn_lshift, a, bits);
	else if (!strncmp(op, "mul", 3))
		INTO(bn_mul, a, b);
	else if (!strcmp(op, "square"))
		INTO(bn_square, a);
#if FIBDRV_STAGE == 3
	else
		INTO(bn_dup, a);
#else
	else
		INTO(bn_copy, a);
#endif
#if FIBDRV_STAGE > 3 && FIBDRV_STAGE < 7
	if (err)
		printf("ERROR %d ", err);
#endif
	return c;
}

void run(struct fib_call *call, const struct request *r)
{
	bool has_bits = !strncmp(r->op, "lshift", 6);
	bool has_b = !has_bits && strcmp(r->op, "square") &&
		     strcmp(r->op, "copy") && strcmp(r->op, "decimal");
	size_t bits = has_bits ? strtoul(r->b, NULL, 10) : 0;
	/*
	 * Whoever takes the result has room from stage 7 on, and grows before:
	 * a limb for each hexadecimal digit is more than enough.
	 */
	size_t room = FIBDRV_STAGE < 7 ? 1 :
					 strlen(r->a) + strlen(r->b) +
						 bits / LIMB_BITS + 2;
	size_t more = FIBDRV_STAGE < 7 ? 0 : room;
	const char *dash = strchr(r->op, '-');
	char into = dash ? dash[1] : 0;
	bool one = into == 's' || into == 't';
	struct bignum *a, *b, *c, *a_before, *b_before;

	apart(into != 'a' && into != 't');
	a = parse(call, r->a, more);
	apart(into != 'b');
	b = parse(call, has_b ? r->b : "1", more);
	apart(false);
	if (!strcmp(r->op, "decimal")) {
		union fib_value f = { .big = a };

		protect(true);
		do_decimal(call, &f, strtoul(r->b, NULL, 10));
		protect(false);
		bn_free(b);
		bn_free(a);
		return;
	}
	a_before = parse(call, r->a, 0);
	b_before = parse(call, has_b ? r->b : "1", 0);
	c = into == 'a' || into == 't' ? a :
	    into == 'b'		       ? b :
					 new_number(call, room);
	protect(true);
	c = operate(r->op, bits, c, a, one ? a : b);
	protect(false);
	if (!c)
		printf("NULL");
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

#endif
