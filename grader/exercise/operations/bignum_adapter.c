// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Adapt a stage's struct bignum to the unit tests. This is the only file of the
 * unit tests that includes a header of the stage. That header may define
 * macros, so this file is compiled and checked against stage.h like a file of
 * the stage. Macros can therefore do nothing here that the stage's own
 * functions could not do. Nothing in this file judges a result.
 */
#include "bignum.h"
#include "bignum_adapter.h"

size_t tested_limb_bytes(void)
{
	return sizeof(limb_t);
}

size_t tested_limb_digits(void)
{
#if STAGE_LIMB_IS_DECIMAL
	return LIMB_DIGITS;
#else
	return LIMB_BITS / 4;
#endif
}

struct bignum *tested_create(struct fib_call *call, size_t count, size_t size)
{
#if STAGE_RESULT_IS_PREALLOCATED
	struct bignum *a = bn_create(call, count, size);
#else
	struct bignum *a = bn_create(call, size);
#endif

	if (a == ERR_PTR(-ENOMEM))
		return NULL;
	return a ? a : ERR_PTR(-EINVAL);
}

const struct fib_call *tested_call(const struct bignum *a)
{
	return a->call;
}

struct bignum *tested_at(struct bignum *a, size_t i)
{
	return &a[i];
}

void tested_free(struct bignum *a)
{
	bn_free(a);
}

void *tested_limbs(struct bignum *a)
{
	return a->limb;
}

size_t tested_size(const struct bignum *a)
{
	return a->size;
}

void tested_set_size(struct bignum *a, size_t size)
{
	a->size = size;
}

size_t tested_capacity(const struct bignum *a)
{
#if STAGE_RESULT_IS_RETURNED
	return a->size;
#else
	return a->capacity;
#endif
}

#if STAGE_HAS_NTT
#include "ntt.h"
#include "transform.h"

/* Return the value of a number of one or two limbs as a word. */
static u64 word_of(const struct bignum *a)
{
	return a->limb[0] + (a->size > 1 ? a->limb[1] * LIMB_BASE : 0);
}

/* Set c to the words f[], with two limbs for each word. */
static void limbs_of_words(struct bignum *c, const u64 *f, size_t count)
{
	for (size_t i = 0; i != count; i++) {
		c->limb[2 * i] = f[i] % LIMB_BASE;
		c->limb[2 * i + 1] = f[i] / LIMB_BASE;
	}
	c->size = 2 * count;
	while (c->size > 1 && !c->limb[c->size - 1])
		c->size--;
}

/* Multiply a by b, once or @times times. */
static void operate_on_words(enum tested_operation what, struct bignum *c,
			     const struct bignum *a, const struct bignum *b,
			     u64 times)
{
	u64 product = word_of(a), y = word_of(b);
	struct shoup_factor factor = shoup_factor_of(y % PRIME);

	do {
		product = what == TESTED_SHOUP ? shoup_mul(product, factor) :
						 solinas_mul(product, y);
	} while (times-- > 1);
	limbs_of_words(c, &product, 1);
}

/*
 * Transform the limbs of a; each is one point, and the length is a power of 2.
 */
static int operate_on_points(enum tested_operation what, struct bignum *c,
			     const struct bignum *a)
{
	struct shape s = { .main = 4 };
	struct ntt *ntt;
	void *room;
	int err;

	while (s.main < a->size)
		s.main *= 2;
	room = fib_alloc(a->call, 1, ntt_room(s.main));
	if (!room)
		return -ENOMEM;
	ntt = ntt_create(room, s.main);
	memset(ntt->f, 0, s.main * sizeof(*ntt->f));
	memcpy(ntt->f, a->limb, a->size * sizeof(*ntt->f));
	err = transform_roots(a->call, ntt, s);
	if (!err && what == TESTED_FORWARD)
		err = transform(a->call, ntt->f, s, ntt);
	else if (!err)
		err = transform_back(a->call, ntt->f, s, ntt);
	if (!err)
		limbs_of_words(c, ntt->f, s.main);
	fib_free(room);
	return err;
}
#endif

#if STAGE_HAS_FFT
#include "fft.h"

/*
 * Memory for the digits of two operands and for an FFT. The result replaces one
 * operand.
 */
struct tested_digits {
	struct fib_call *call;
	struct digits a, b;
	struct fft *fft;
	s16 digit[];
};

struct tested_digits *tested_digits_create(struct fib_call *call, size_t size)
{
	size_t product = 2 * size;
	size_t each = digits_room(max(size, fft_digits(product)) + 1);
	struct tested_digits *both;
	char *room;

	both = fib_alloc(call, 1,
			 sizeof(*both) + 2 * each * sizeof(s16) + 64 +
				 fft_room(product));
	if (!both)
		return NULL;
	both->call = call;
	both->a = (struct digits){ both->digit, size };
	both->b = (struct digits){ both->digit + each, size };
	room = (char *)(both->digit + 2 * each);
	both->fft =
		fft_create(call, room + 64 - (unsigned long)room % 64, product);
	return both;
}

s16 *tested_digit(struct tested_digits *both, size_t i)
{
	return i ? both->b.digit : both->a.digit;
}

void tested_digits_free(struct tested_digits *both)
{
	fib_free(both);
}

/* Remove leading zeros without the stage's code, which could do more. */
static void trim(struct digits *a)
{
	while (a->size && !a->digit[a->size - 1])
		a->size--;
}

ssize_t tested_digits_operate(enum tested_operation what,
			      struct tested_digits *both, char *text,
			      size_t size)
{
	struct fib_call *call = both->call;
	struct digits *x = &both->a, *y = &both->b;

	if (IS_ERR(both->fft))
		return PTR_ERR(both->fft);
	trim(x);
	trim(y);
	switch (what) {
	case TESTED_TWICE_PLUS:
		return digits_combine(call, y, 2, x, 1, y);
	case TESTED_TWICE_MINUS:
		return digits_combine(call, y, -1, x, 2, y);
	case TESTED_MINUS:
		return digits_combine(call, y, -1, x, 1, y);
	case TESTED_FIFTH:
		return digits_div5(call, x);
	case TESTED_UNIQUE:
		return digits_make_unique(call, x);
	case TESTED_TEXT:
		return digits_print(call, text, size, x);
	default:
		return fft_mul(call, x, x, what == TESTED_FFT_SQUARE ? x : y, 0,
			       both->fft);
	}
}

/* Return the number that an operation has replaced by its result. */
static const struct digits *changed(enum tested_operation what,
				    const struct tested_digits *both)
{
	return what >= TESTED_TWICE_PLUS && what <= TESTED_MINUS ? &both->b :
								   &both->a;
}

s16 *tested_digits_result(enum tested_operation what,
			  const struct tested_digits *both, size_t *size)
{
	*size = changed(what, both)->size;
	return changed(what, both)->digit;
}

/* DIGIT_MAX and DIGITS_AT_ONCE of digits.h, which a submission could change. */
#define LARGEST_DIGIT 5012
#define VECTOR_DIGITS 16

/*
 * Set c to a, whose digits may be negative. Return -EINVAL unless all digits
 * are from -LARGEST_DIGIT to LARGEST_DIGIT, or from 0 to 9999 if @unique is set.
 */
static int limbs_of_digits(struct bignum *c, const struct digits *a,
			   bool unique)
{
	const int least = unique ? 0 : -LARGEST_DIGIT;
	const int most = unique ? DIGIT_BASE - 1 : LARGEST_DIGIT;
	limb_t power = LIMB_BASE;
	int carry = 0;

	c->size = 0;
	for (size_t i = 0; i < a->size; i++) {
		int digit = a->digit[i] + carry;

		if (a->digit[i] < least || a->digit[i] > most)
			return -EINVAL;
		carry = digit < 0 ? -1 : digit >= DIGIT_BASE;
		digit -= carry * DIGIT_BASE;
		/*
		 * A limb holds four and a half digits, so convert by single
		 * decimals.
		 */
		for (int j = 0; j < DIGIT_WIDTH; j++, digit /= 10) {
			if (power == LIMB_BASE) {
				if (c->size == c->capacity)
					break;
				c->limb[c->size++] = 0;
				power = 1;
			}
			c->limb[c->size - 1] += digit % 10 * power;
			power *= 10;
		}
		if (digit || (carry && i + 1 == a->size))
			return -ERANGE;
	}
	if (!c->size)
		c->limb[c->size++] = 0;
	while (c->size > 1 && !c->limb[c->size - 1])
		c->size--;
	return 0;
}

/*
 * Replace the digits of a by those from @least to @least + DIGIT_BASE - 1 with
 * the same value, so that an operand does not depend on how the stage converts
 * numbers. There is memory for one more digit.
 */
static void digits_from(struct digits *a, int least)
{
	int carry = 0;

	for (size_t i = 0; i < a->size; i++) {
		int digit = a->digit[i] + carry;

		carry = (digit >= least + DIGIT_BASE) - (digit < least);
		a->digit[i] = digit - carry * DIGIT_BASE;
	}
	if (carry) {
		a->digit[a->size++] = carry;
		/* Operations read whole vectors. */
		for (size_t i = a->size; i % VECTOR_DIGITS; i++)
			a->digit[i] = 0;
	}
	trim(a);
}

/*
 * Convert a to its unique digits without the stage's code, print a with the
 * stage's code, and read the text back.
 */
static int text_and_back(struct fib_call *call, struct digits *a)
{
	size_t size = a->size * DIGIT_WIDTH + 1;
	ssize_t count, again;
	char *text;

	digits_from(a, 0);
	text = fib_alloc(call, size, 1);
	if (!text)
		return -ENOMEM;
	text[size - 1] = '#';
	count = digits_print(call, text, size - 1, a);
	again = count > 0 ? digits_print(call, text, count - 1, a) : -ERANGE;
	if (count <= 0 || text[0] == '0' || text[size - 1] != '#')
		count = count < 0 ? count : -EINVAL;
	if (again != -ERANGE)
		count = -EINVAL;
	for (ssize_t j = 0; j < count; j++)
		if (text[j] < '0' || text[j] > '9')
			count = -EINVAL;
	for (size_t i = 0; count > 0 && i < a->size; i++) {
		a->digit[i] = 0;
		for (ssize_t j = max(count - 4 * (ssize_t)(i + 1), (ssize_t)0);
		     j < count - 4 * (ssize_t)i; j++)
			a->digit[i] = 10 * a->digit[i] + text[j] - '0';
	}
	fib_free(text);
	return count > 0 ? 0 : count;
}

static int operate_on_digits(enum tested_operation what, struct bignum *c,
			     struct bignum *a, struct bignum *b)
{
	size_t size = (max(a->size, b ? b->size : 0) / 2 + 1) * 9 + 1;
	struct tested_digits *both = tested_digits_create(a->call, size);
	int err;

	if (!both)
		return -ENOMEM;
	digits_from_limbs(&both->a, a);
	digits_from(&both->a, 1 - DIGIT_BASE / 2);
	if (b) {
		digits_from_limbs(&both->b, b);
		digits_from(&both->b, 1 - DIGIT_BASE / 2);
	} else {
		both->b.size = 0;
	}
	if (what == TESTED_TEXT && !IS_ERR(both->fft))
		err = text_and_back(a->call, &both->a);
	else
		err = tested_digits_operate(what, both, NULL, 0);
	if (!err)
		err = limbs_of_digits(c, changed(what, both),
				      what == TESTED_UNIQUE ||
					      what == TESTED_TEXT);
	fib_free(both);
	return err;
}
#endif

#if STAGE_RESULT_IS_RETURNED
/*
 * Store a returned number in *c. If it is an error, store NULL and return it.
 */
static int take(struct bignum **c, struct bignum *result)
{
	*c = IS_ERR(result) ? NULL : result;
	return IS_ERR(result) ? PTR_ERR(result) : 0;
}

#define INTO(function, ...) take(c, function(__VA_ARGS__))
#define COPY bn_dup
#elif STAGE_RESULT_IS_GROWN
#define INTO(function, ...) function(*c, __VA_ARGS__)
#define COPY bn_copy
#else
#define INTO(function, ...) (function(*c, __VA_ARGS__), 0)
#define COPY bn_copy
#endif

int tested_operate(enum tested_operation what, struct bignum **c,
		   struct bignum *a, struct bignum *b, u64 word)
{
	switch (what) {
	case TESTED_ADD:
		return INTO(bn_add, a, b);
	case TESTED_SUB:
		return INTO(bn_sub, a, b);
#if STAGE_RESULT_IS_RETURNED
	case TESTED_MUL:
		return take(c, bn_mul(a, b));
	case TESTED_SQUARE:
		return take(c, bn_square(a));
#else
	case TESTED_MUL:
		return bn_mul(*c, a, b);
	case TESTED_SQUARE:
		return bn_square(*c, a);
#endif
#if STAGE_HAS_LSHIFT
	case TESTED_LSHIFT:
		return INTO(bn_lshift, a, word);
#endif
#if STAGE_HAS_COPY
	case TESTED_COPY:
		return INTO(COPY, a);
#endif
#if STAGE_HAS_INCREASE
	case TESTED_INCREASE:
		bn_increase(*c, word);
		return 0;
#endif
#if STAGE_HAS_DECREASE
	case TESTED_DECREASE:
		bn_decrease(*c, word);
		return 0;
#endif
#if STAGE_HAS_DIV5
	case TESTED_DIV5:
		return INTO(bn_div5, a);
#endif
#if STAGE_HAS_NTT
	case TESTED_SOLINAS:
	case TESTED_SHOUP:
		operate_on_words(what, *c, a, b, word);
		return 0;
	case TESTED_FORWARD:
	case TESTED_INVERSE:
		return operate_on_points(what, *c, a);
#endif
#if STAGE_HAS_FFT
	case TESTED_TWICE_PLUS ... TESTED_FFT_SQUARE:
		return operate_on_digits(what, *c, a, b);
#endif
	default:
		return 0;
	}
}
