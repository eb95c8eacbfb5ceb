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

	return IS_ERR(a) ? NULL : a;
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

#if STAGE_LIMB_IS_DECIMAL
size_t tested_capacity(const struct bignum *a)
{
	return a->capacity;
}
#endif

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

static void operate_on_words(enum tested_operation what, struct bignum *c,
			     const struct bignum *a, const struct bignum *b)
{
	u64 x = word_of(a), y = word_of(b), product;

	if (what == TESTED_SHOUP)
		product = shoup_mul(x, shoup_factor_of(y % PRIME));
	else
		product = solinas_mul(x, y);
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
struct digits_room {
	struct digits a, b;
	struct fft *fft;
	s16 digit[];
};

static struct digits_room *digits_of(struct bignum *a, struct bignum *b)
{
	size_t a_size = (a->size / 2 + 1) * 9 + 1;
	size_t b_size = b ? (b->size / 2 + 1) * 9 + 1 : 0;
	size_t longer = max(a_size, b_size), product = 2 * longer;
	size_t each = digits_room(max(longer, fft_digits(product)) + 1);
	struct digits_room *room;

	room = fib_alloc(a->call, 1,
			 sizeof(*room) + 2 * each * sizeof(s16) + 64 +
				 fft_room(product));
	if (!room)
		return NULL;
	room->a.digit = room->digit;
	room->b.digit = room->digit + each;
	digits_from_limbs(&room->a, a);
	if (b)
		digits_from_limbs(&room->b, b);
	room->fft =
		fft_create(a->call,
			   (char *)(room->digit + 2 * each) + 64 -
				   (unsigned long)(room->digit + 2 * each) % 64,
			   product);
	return room;
}

/*
 * Set c to a, whose digits may be negative. If @unique is set, return -EINVAL
 * unless all digits are from 0 to 9999.
 */
static int limbs_of_digits(struct bignum *c, const struct digits *a,
			   bool unique)
{
	limb_t power = LIMB_BASE;
	int carry = 0;

	c->size = 0;
	for (size_t i = 0; i < a->size; i++) {
		int digit = a->digit[i] + carry;

		if (unique && (digit < 0 || digit >= DIGIT_BASE))
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
 * Convert a to its unique digits without the stage's code, print a with the
 * stage's code, and read the text back.
 */
static int text_and_back(struct fib_call *call, struct digits *a)
{
	size_t size = a->size * DIGIT_WIDTH + 1;
	ssize_t count, again;
	int carry = 0;
	char *text;

	for (size_t i = 0; i < a->size; i++) {
		int digit = a->digit[i] + carry;

		carry = digit < 0 ? -1 : 0;
		a->digit[i] = digit - carry * DIGIT_BASE;
	}
	digits_trim(a);
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
	struct digits_room *room = digits_of(a, b);
	struct digits *x, *y;
	int err;

	if (!room)
		return -ENOMEM;
	x = &room->a;
	y = &room->b;
	if (IS_ERR(room->fft))
		err = PTR_ERR(room->fft);
	else if (what == TESTED_TWICE_PLUS)
		err = digits_combine(a->call, y, 2, x, 1, y);
	else if (what == TESTED_TWICE_MINUS)
		err = digits_combine(a->call, y, -1, x, 2, y);
	else if (what == TESTED_FIFTH)
		err = digits_div5(a->call, x);
	else if (what == TESTED_UNIQUE)
		err = digits_make_unique(a->call, x);
	else if (what == TESTED_TEXT)
		err = text_and_back(a->call, x);
	else
		err = fft_mul(a->call, x, x, what == TESTED_FFT_SQUARE ? x : y,
			      0, room->fft);
	if (!err)
		err = limbs_of_digits(
			c,
			what == TESTED_TWICE_PLUS ||
					what == TESTED_TWICE_MINUS ?
				y :
				x,
			what == TESTED_UNIQUE);
	fib_free(room);
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
		operate_on_words(what, *c, a, b);
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
