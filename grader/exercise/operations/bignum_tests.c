// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The unit tests of operations on numbers of several limbs.
 */
#include "number_io.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

enum second_operand { NONE, NUMBER, BITS, LIMB };

static const struct function {
	const char *name;
	enum tested_operation what;
	enum second_operand second;
	bool in_place; /* the result always goes into operand a */
} functions[] = {
	{ "add", TESTED_ADD, NUMBER, false },
	{ "sub", TESTED_SUB, NUMBER, false },
	{ "mul", TESTED_MUL, NUMBER, false },
	{ "square", TESTED_SQUARE, NONE, false },
	{ "lshift", TESTED_LSHIFT, BITS, false },
	{ "copy", TESTED_COPY, NONE, false },
	{ "increase", TESTED_INCREASE, LIMB, true },
	{ "decrease", TESTED_DECREASE, LIMB, true },
	{ "div5", TESTED_DIV5, NONE, false },
#if STAGE_HAS_NTT
	{ "solinas", TESTED_SOLINAS, NUMBER, false },
	{ "shoup", TESTED_SHOUP, NUMBER, false },
	{ "forward", TESTED_FORWARD, NONE, false },
	{ "inverse", TESTED_INVERSE, NONE, false },
#endif
#if STAGE_HAS_FFT
	{ "twice_plus", TESTED_TWICE_PLUS, NUMBER, false },
	{ "twice_minus", TESTED_TWICE_MINUS, NUMBER, false },
	{ "digit_minus", TESTED_MINUS, NUMBER, false },
	{ "fifth", TESTED_FIFTH, NONE, false },
	{ "unique", TESTED_UNIQUE, NONE, false },
	{ "text", TESTED_TEXT, NONE, false },
	{ "fft_mul", TESTED_FFT_MUL, NUMBER, false },
	{ "fft_square", TESTED_FFT_SQUARE, NONE, false },
#endif
};

/*
 * Return the function of a request. Ignore the suffix after "-", which selects
 * the number that gets the result.
 */
static const struct function *find(const char *op)
{
	size_t length = strcspn(op, "-");

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strlen(functions[i].name) == length &&
		    !strncmp(op, functions[i].name, length))
			return &functions[i];
	return NULL;
}

/* Return 0 if the lengths differ by at most an eighth, 2 if A is longer, and 1 if B is. */
static unsigned int relation_of(const struct function *f,
				const struct request *r)
{
	size_t a = strlen(r->a), b = strlen(r->b);

	if (f->second != NUMBER)
		return 0;
	return a > b + b / 8 ? 2 : b > a + a / 8;
}

/* Return whether the sum of a decimal number and a word has one more limb. */
static bool has_carry(const char *text, u64 word)
{
	size_t digits = tests_limb_digits(), length = strlen(text);
	size_t above = length > digits ? length - digits : 0;
	u64 base = 1;

	for (size_t i = 0; i < digits; i++)
		base *= 10;
	return above % digits == 0 && strspn(text, "9") >= above &&
	       strtoull(text + above, NULL, 10) + word >= base;
}

/* Return the number of limbs of a hexadecimal number times 2^@bits. */
static size_t limbs_of_shift(const char *text, u64 bits)
{
	u64 top = strtoull((char[]){ text[0], 0 }, NULL, 16);

	bits += 4 * (strlen(text) - 1) + (top ? 64 - __builtin_clzll(top) : 1);
	return tests_limbs_for((bits + 3) / 4);
}

/* Return the capacity, in limbs, that the result must have for the function. */
static size_t room_for(const struct function *f, const struct request *r,
		       u64 bits)
{
	size_t a = strlen(r->a), b = strlen(r->b);

	if (!STAGE_RESULT_IS_PREALLOCATED)
		return 1;
	/* The result gets only the capacity that the function requires. */
	if (f->what == TESTED_LSHIFT)
		return limbs_of_shift(r->a, bits);
	a = tests_limbs_for(a);
	b = f->second == NUMBER ? tests_limbs_for(b) : 1;
	if (f->what == TESTED_MUL || f->what == TESTED_FFT_MUL)
		return a + b;
	if (f->what == TESTED_SOLINAS || f->what == TESTED_SHOUP)
		return 2;
	/*
	 * The number of points is the number of limbs, rounded up to a power of
	 * 2; a point takes two limbs.
	 */
	if (f->what == TESTED_FORWARD || f->what == TESTED_INVERSE) {
		size_t points = 4;

		while (points < a)
			points *= 2;
		return 2 * points;
	}
	if (f->what == TESTED_SQUARE || f->what == TESTED_FFT_SQUARE)
		return 2 * a;
	if (f->what == TESTED_INCREASE)
		return a + has_carry(r->a, strtoull(r->b, NULL, 10));
	if (f->what == TESTED_ADD ||
	    (f->what >= TESTED_TWICE_PLUS && f->what <= TESTED_MINUS))
		return max(a, b) + 1;
	return a;
}

/* Return a random number from 1 to @most. */
static size_t random_size(size_t most)
{
	static u64 state = 1;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return 1 + (state >> 33) % most;
}

/*
 * Return the old value of a result that grows, of any length up to twice @most
 * digits. It must not affect the new value. The caller frees it.
 */
static char *old_value(size_t most)
{
	size_t length = random_size(2 * most + 40);
	char *text = malloc(length + 1);

	assert(text);
	for (size_t i = 0; i < length; i++)
		text[i] = '1' + i % 9;
	text[length] = '\0';
	return text;
}

static void print_work(void)
{
	printf(" WORK %llu %zu", allocator.announced, tests_limb_digits());
}

static void decimal(struct fib_call *call, const struct request *r)
{
	struct operand a = tests_read_operand(call, r->a, 0, true);
	union fib_value f = { .big = a.number };
	struct fib_call own = { .work = call->work }, before = *call;

	protect(true);
	do_decimal(&own, &f, strtoul(r->b, NULL, 10));
	if (memcmp(&before, call, sizeof(before)))
		printf(" ACCOUNT");
	if (!strcmp(r->op, "decimal-w"))
		print_work();
	protect(false);
	tests_free_operand(&a);
}

/* Return whether the function returns an error if there is no memory. */
static bool returns_errors(const struct function *f)
{
	return !STAGE_RESULT_IS_PREALLOCATED || f->what == TESTED_MUL ||
	       f->what == TESTED_SQUARE || f->what > TESTED_SHOUP;
}

/* Return whether copying @a to @c, which is a copy of @a, allocates memory. */
static bool allocates_again(struct bignum *c, struct bignum *a)
{
	u64 before = allocator.allocations;

	return tested_operate(TESTED_COPY, &c, a, a, 0) ||
	       allocator.allocations != before;
}

/*
 * Protect the operands until the result is printed, because the stage may
 * compute a result only when it is printed.
 */
static void operate(struct fib_call *call, const struct request *r,
		    const struct function *f)
{
	const char *dash = strchr(r->op, '-');
	char into = dash ? dash[1] : 0;
	bool one = into == 's' || into == 't', into_b = into == 'b';
	bool into_a = into == 'a' || into == 't' || f->in_place;
	u64 word = f->second > NUMBER ? strtoull(r->b, NULL, 10) : 0, blocks;
	size_t room = room_for(f, r, f->second == BITS ? word : 0);
	struct operand a, b = { .number = NULL }, old = { .number = NULL };
	char *text = old_value(strlen(r->a) + strlen(r->b));
	struct bignum *c = NULL, *made;
	const char *returned, *fault;
	int err;

	a = tests_read_operand(call, r->a, into_a ? room : 0, !into_a);
	if (f->second == NUMBER)
		b = tests_read_operand(call, r->b, into_b ? room : 0, !into_b);
	if (into_a || into_b)
		c = into_a ? a.number : b.number;
	else if (STAGE_RESULT_IS_GROWN)
		c = (old = tests_read_operand(call, text, 0, false)).number;
	else if (!STAGE_RESULT_IS_RETURNED) {
		size_t capacity = room * random_size(2);

		c = tests_new_number(call, capacity);
		tested_set_size(c, random_size(capacity));
	}
	made = c;
	blocks = allocator.blocks;
	protect(true);
	/*
	 * After a failure, call the function again with the same result, which
	 * may have any limbs, but not more than it has room for. An operand that
	 * the result replaces is read again.
	 */
	for (;;) {
		if (returns_errors(f))
			failures_begin(__builtin_frame_address(0), strlen(r->a),
				       into + 256 * relation_of(f, r));
		allocator.announced = 0;
		err = tested_operate(f->what, &made, a.number,
				     one ? a.number : b.number, word);
		if (!failures_end())
			break;
		returned = NULL;
		if (STAGE_RESULT_IS_RETURNED && !err)
			returned = made ? "NUMBER" : "NULL";
		if (made != c)
			tested_free(made);
		fault = c ? tests_size_fault_of(c) : "";
		failures_judge(err, returned, blocks, fault);
		if (into_a || into_b) {
			struct operand *replaced = into_a ? &a : &b;

			protect(false);
			tests_free_operand(replaced);
			*replaced = tests_read_operand(
				call, into_a ? r->a : r->b, room, false);
			protect(true);
			c = replaced->number;
			blocks = allocator.blocks;
		}
		made = c;
		/* Without memory the result of a copy must stay as it is. */
		if (STAGE_RESULT_IS_GROWN && f->what == TESTED_COPY &&
		    !tests_is_unchanged(&old))
			printf("LOST ");
	}
	if (STAGE_RESULT_IS_RETURNED)
		c = made;
	if (err)
		printf("ERROR %d", err);
	else if (!c)
		printf("NULL");
	else
		print_value(&(union fib_value){ .big = c });
	if (STAGE_RESULT_IS_GROWN && f->what == TESTED_COPY && !err &&
	    allocates_again(c, a.number))
		printf(" AGAIN");
	if (into == 'w')
		print_work();
	if ((!into_a && !tests_is_unchanged(&a)) ||
	    (!into_b && !tests_is_unchanged(&b)))
		printf(" CHANGED");
	protect(false);
	if (c && c != a.number && c != b.number)
		tested_free(c);
	free(old.copy);
	free(text);
	tests_free_operand(&b);
	tests_free_operand(&a);
}

/* Create @count numbers of @size limbs, for which there cannot be enough memory. */
static void create(struct fib_call *call, size_t size, size_t count)
{
	struct bignum *a = tested_create(
		call, STAGE_RESULT_IS_PREALLOCATED ? count : 1, size);

	printf(a ? "ROOM" : "ENOMEM");
	if (a)
		tested_free(a);
}

void run(struct fib_call *call, const struct request *r)
{
	const struct function *f = find(r->op);

	if (!strncmp(r->op, "decimal", 7))
		decimal(call, r);
	else if (!strcmp(r->op, "create"))
		create(call, strtoull(r->a, NULL, 10),
		       strtoull(r->b, NULL, 10));
	else if (f && (f->second == NONE || *r->b))
		operate(call, r, f);
	else
		printf("UNKNOWN");
}
