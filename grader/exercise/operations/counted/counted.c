// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * fibcounted: call the operations of a stage one at a time between two marks,
 * so that the emulator can count the instructions of each: see
 * grader/exercise/operations/ideas.py.
 *
 * The parameter "ask" takes a request, and returns the answer when it is read:
 *
 *	WHAT SIZE SECOND SEED ONES ALIKE INTO EXTRA MODULUS
 *
 *	compute		fib_compute() of F(SIZE) between the marks. If ALIKE is
 *			1, fib_has_avx2() returns false meanwhile.
 *	decimal		fib_decimal() of a random number of SIZE words of 8 bytes,
 *			into EXTRA bytes
 *	create		create three numbers of SIZE words
 *	a number	an operation of enum tested_operation in
 *			bignum_adapter.h, on random numbers of SIZE and SECOND
 *			words; if SECOND is 0, the first one is both. If ONES is
 *			more than 0, a number has ONES one bits at random places
 *			below its top bit; for an operation on digits, the first
 *			number then has runs of ONES zeros. If ONES is negative,
 *			a number has runs of up to -ONES words that are 0, the
 *			largest word, or random. If ALIKE is 1, both numbers have
 *			the same words below the top word. If INTO is 1 or 2,
 *			the result replaces the first or the second number; if
 *			it is 3, it goes to a number that must grow. EXTRA is
 *			the number of bits of a shift, or the limb that is
 *			added or subtracted.
 *
 * The answer is the operation's return value and residues: the residue of F(N),
 * the residue of the digits, or the residues of the operands after the call,
 * except of a replaced one, and of the result. The last number is that of the
 * blocks that were allocated between the marks. F(N) is not converted, and the
 * digits are those of a random number, so that neither task depends on the
 * other. ideas.py generates the same operands, so it can check the whole answer.
 * The parameter "marks" holds the addresses of both marks, of fib_alloc() and of
 * fib_yield(), and of the stage's bn_mul() and bn_square(), or 0 if it has
 * none.
 *
 * The stage's headers can define macros by which the adapter calls the stage's
 * functions. So no function of the adapter is called between the generation of
 * the operands and the first mark, and each result is read through the adapter
 * before the second mark.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "account.h"
#include "bignum_adapter.h"

/* Whether fib_has_avx2() returns false. */
static bool scalar;

#if STAGE_HAS_VECTORS
#define fib_has_avx2 processor_has_avx2
#include "vector.c"
#undef fib_has_avx2

bool fib_has_avx2(void); /* vector.h declares the other name here. */

bool fib_has_avx2(void)
{
	return !scalar && processor_has_avx2();
}
#endif

static char answer[128];

static noinline void mark_begin(void)
{
	asm volatile("" : : : "memory");
}

static noinline void mark_end(void)
{
	asm volatile("" : : : "memory");
}

/*
 * The allocations between the marks, by the account of the kit. The plugin
 * counts executions of the first instruction of fib_alloc(), which code in
 * assembly or by a computed address can leave out.
 */
static u64 allocated;

static __always_inline void begin(const struct fib_account *account)
{
	allocated = account->allocations;
	mark_begin();
}

static __always_inline void end(const struct fib_account *account)
{
	mark_end();
	allocated = account->allocations - allocated;
}

struct request {
	enum tested_operation what;
	u64 size, second; /* in words */
	u64 seed, modulus;
	int ones;
	unsigned int alike;
	enum { WITH_ROOM, INTO_FIRST, INTO_SECOND, WITHOUT_ROOM } into;
	u64 extra;
};

/* In half of the calls, let @account be as after some other operations. */
static void use_account(struct fib_account *account, u64 seed)
{
	if (seed >> 16 & 1)
		return;
	account->allocations = account->call.allocations = seed >> 17 & 0xfff;
	account->call.work = seed % FIB_WORK_LIMIT;
}

/* Whether limbs are decimal. */
static bool decimal;
module_param(decimal, bool, 0);

/*
 * The number of blocks that hold three numbers: 1 if a single call creates all
 * three, else 3.
 */
static unsigned int blocks = 3;
module_param(blocks, uint, 0);

#if STAGE_HAS_NUMBERS
/* The base of the words, or 0 for 2^64; and half of the base. */
#define BASE (decimal ? 1000000000000000000ULL : 0)
#define HALF (decimal ? BASE / 2 : 1ULL << 63)

/*
 * The limbs or digits of a number as data. Of a result, only the adapter knows
 * them: see the comment above. A submission that postpones work until a result
 * is read has this work counted, too.
 */
struct limbs {
	void *limb;
	size_t size, bytes; /* number of limbs, bytes of a limb */
};

static struct limbs limbs_of(struct bignum *a)
{
	return (struct limbs){ tested_limbs(a), tested_size(a),
			       tested_limb_bytes() };
}

/* Set the size of @a in words. Return its limbs, which are to be filled. */
static struct limbs room_of(struct bignum *a, size_t words)
{
	tested_set_size(a, words * 8 / tested_limb_bytes());
	return limbs_of(a);
}

static u64 residue_of(struct limbs a, u64 modulus)
{
	u64 half = (1ULL << 32) % modulus, base = half, residue = 0;

	if (a.bytes == 8)
		base = BASE ? BASE % modulus : half * half % modulus;
	for (size_t i = a.size; i--;) {
		u64 limb = a.bytes == 4 ? ((const u32 *)a.limb)[i] :
					  ((const u64 *)a.limb)[i];

		residue = (residue * base + limb % modulus) % modulus;
	}
	return residue;
}

static struct limbs limbs_of_value(const union fib_value *f)
{
	return limbs_of(f->big);
}

/*
 * Return a random word from Knuth's MMIX linear congruential generator. Its
 * upper bits are mixed into the lower ones, which are less random.
 */
static u64 random_word(u64 *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state ^ *state >> 32;
}

static void put_word(struct limbs a, size_t i, u64 word)
{
	/* The kernel is for little-endian processors, like every x86. */
	memcpy((char *)a.limb + 8 * i, &word, 8);
}

/*
 * Fill @a with random words. The top word is from @least to 2 * @least, without
 * its lowest @drop bits. If @ones is more than 0, the number has at most @ones
 * one bits, and those of @least; if it is negative, the words are runs of up to
 * -@ones words, see struct request. operands() in ideas.py does the same.
 */
static void fill(struct limbs a, u64 least, u64 *state, int ones,
		 unsigned int drop)
{
	size_t words = a.size * a.bytes / 8, end = 0;
	u64 kind = 0;

	if (ones > 0) {
		memset(a.limb, 0, 8 * words);
		put_word(a, words - 1, least);
		while (ones--) {
			u64 bit = random_word(state) % (64 * words - 2);

			((u8 *)a.limb)[bit / 8] |= 1 << bit % 8;
		}
		return;
	}
	for (size_t i = 0; i != words; i++) {
		u64 word = random_word(state);

		if (ones < 0 && i == end) {
			kind = word % 3;
			end += 1 + (word >> 2) % -ones;
		}
		if (ones < 0 && kind < 2)
			word = kind ? BASE - 1 : 0; /* ~0 if BASE is 0 */
		if (BASE)
			word %= BASE;
		if (i + 1 == words)
			word = (word % least + least) >> drop;
		put_word(a, i, word);
	}
}

/* Make @a a random number of @words words, as fill() does. Return its limbs. */
static struct limbs random_number(struct bignum *a, size_t words, u64 least,
				  u64 *state, int ones, unsigned int drop)
{
	struct limbs limbs = room_of(a, words);

	fill(limbs, least, state, ones, drop);
	if (limbs.bytes == 4 && !((const u32 *)limbs.limb)[limbs.size - 1])
		tested_set_size(a, limbs.size - 1);
	return limbs_of(a);
}

/*
 * Return how many bits of their top words random numbers of a request drop, so
 * that their lengths vary. A top word is at least HALF / 2, so one bit is left.
 */
static unsigned int dropped(u64 seed)
{
	return seed % (BASE ? 58 : 61);
}

/* Return how many limbs a number of @size limbs has room for besides these. */
static size_t spare(size_t size, u64 seed)
{
	return size * (seed >> 29 & 3) / 2 + seed % 8 * (seed >> 31 & 1);
}

/* Create three numbers of these sizes, or of the largest one. */
static bool create(struct fib_call *call, struct bignum **number,
		   const size_t size[static 3])
{
	bool made = true;

	for (unsigned int i = 0; i < blocks; i++) {
		size_t most = max3(size[0], size[1], size[2]);

		number[i] =
			tested_create(call, 3, blocks == 1 ? most : size[i]);
		made = made && number[i];
	}
	return made;
}

static void release(struct bignum **number)
{
	for (unsigned int i = 0; i < blocks; i++)
		if (number[i])
			tested_free(number[i]);
}

static void count_create(u64 words)
{
	struct fib_account account = FIB_ACCOUNT(account);
	size_t size = words * 8 / tested_limb_bytes();
	struct bignum *number[3];
	bool made;

	begin(&account);
	made = create(&account.call, number, (size_t[]){ size, size, size });
	end(&account);
	if (made)
		scnprintf(answer, sizeof(answer), "0");
	release(number);
}

static u64 residue_of_digits(const char *digits, size_t count, u64 modulus)
{
	u64 residue = 0;

	while (count--)
		div64_u64_rem(10 * residue + (*digits++ - '0'), modulus,
			      &residue);
	return residue;
}

/*
 * Answer with the return value of fib_decimal() and the residue of its digits.
 */
static void answer_digits(const char *digits, ssize_t ret, size_t bound,
			  u64 modulus)
{
	if (ret > 0 && ret <= bound)
		scnprintf(answer, sizeof(answer), "0 %llu",
			  residue_of_digits(digits, ret, modulus));
	else
		scnprintf(answer, sizeof(answer), "%zd", ret);
}

/* A word has at most 20 decimal digits. */
#define WORD_DIGITS 20

static void count_decimal(const struct request *ask)
{
	u64 words = ask->size, seed = ask->seed, modulus = ask->modulus;
	size_t bound = ask->extra;
	struct fib_account account = FIB_ACCOUNT(account);
	size_t size = words * 8 / tested_limb_bytes();
	char *digits = kvmalloc(bound, GFP_KERNEL);
	struct bignum *number[3];
	union fib_value f;
	ssize_t ret;

	if (!digits)
		return;
	use_account(&account, seed);
	if (!create(&account.call, number,
		    (size_t[]){ size + spare(size, seed), 1, 1 }))
		goto release;
	f.big = number[0];
	random_number(number[0], words, HALF, &seed, ask->ones, dropped(seed));
	begin(&account);
	ret = fib_decimal(&account.call, &f, digits, bound);
	end(&account);
	answer_digits(digits, ret, bound, modulus);
release:
	release(number);
	kvfree(digits);
}

/*
 * Answer with the residue of F(n) by its digits, because the stage with an FFT
 * has two kinds of numbers. F(n) has at most n / 4 + 1 digits.
 */
static void answer_value(const union fib_value *f, u64 n, u64 modulus)
{
	struct fib_account account = FIB_ACCOUNT(account);
	size_t bound = n / 4 + 2;
	char *digits = kvmalloc(bound, GFP_KERNEL);

	if (!digits)
		return;
	answer_digits(digits, fib_decimal(&account.call, f, digits, bound),
		      bound, modulus);
	kvfree(digits);
}

/*
 * The number of multiplications modulo the prime. They take more instructions
 * than their preparation. TIMES in ideas.py must be the same.
 */
#define TIMES 32

static void count_numbers(const struct request *ask)
{
	struct fib_account account = FIB_ACCOUNT(account);
	size_t limbs = 8 / tested_limb_bytes();
	size_t size[] = { ask->size * limbs, max(ask->second, 1ULL) * limbs,
			  0 };
	unsigned int drop = dropped(ask->seed);
	struct limbs first, second, result = { 0 };
	u64 seed = ask->seed, same = seed;
	struct bignum *number[3], *c;
	bool modulo = ask->what == TESTED_SOLINAS || ask->what == TESTED_SHOUP;
	u64 word = modulo ? TIMES : ask->extra;
	int ret, count = 0, place;

	/* The result does not grow between the marks. */
	place = ask->into == INTO_FIRST ? 0 : ask->into == INTO_SECOND ? 1 : 2;
	size[2] = 2 * max(size[0], size[1]) + 2;
	for (int i = 0; i < 3; i++) {
		if (i == place)
			size[i] = size[2];
		size[i] += spare(size[i], seed >> i);
	}
	use_account(&account, seed);
	if (!create(&account.call, number, size))
		goto release;
	if (blocks == 1) {
		number[1] = tested_at(number[0], 1);
		number[2] = tested_at(number[0], 2);
	}
	if (ask->into == WITHOUT_ROOM) {
		/* The result grows between the marks. */
		tested_free(number[2]);
		number[2] = tested_create(&account.call, 1, 1);
		if (!number[2])
			goto release;
	}
	c = number[place];
	if (ask->what == TESTED_INCREASE || ask->what == TESTED_DECREASE)
		random_number(c, ask->size, HALF, &same, 0,
			      drop); /* its operand, too */
	first = random_number(number[0], ask->size, HALF, &seed, ask->ones,
			      drop);
	if (ask->alike)
		seed = ask->seed;
	second = ask->second ? random_number(number[1], ask->second, HALF / 2,
					     &seed, ask->ones, drop) :
			       first;
	if (ask->what == TESTED_DIV5) {
		u64 lowest = *(u64 *)first.limb;

		put_word(first, 0, lowest - lowest % 5); /* as for a fifth */
	}
	begin(&account);
	ret = tested_operate(ask->what, &c, number[0],
			     number[ask->second ? 1 : 0], word);
	if (!ret && c)
		result = limbs_of(c);
	end(&account);
	if (ret || !c) {
		scnprintf(answer, sizeof(answer), "%d", ret ?: -ENOMEM);
	} else {
		count = scnprintf(answer, sizeof(answer), "0 ");
		if (ask->into != INTO_FIRST)
			count += scnprintf(answer + count,
					   sizeof(answer) - count, "%llu ",
					   residue_of(first, ask->modulus));
		if (ask->into != INTO_SECOND)
			count += scnprintf(answer + count,
					   sizeof(answer) - count, "%llu ",
					   residue_of(second, ask->modulus));
		scnprintf(answer + count, sizeof(answer) - count, "%llu",
			  residue_of(result, ask->modulus));
	}
	if (c && c != number[0] && c != number[1] && c != number[2])
		tested_free(c);
release:
	release(number);
}

#if STAGE_HAS_FFT
/*
 * Convert words in base 10^18 to digits in base 10^4, nine for each two words.
 * If @signs is set, make digits from -5000 to 5000 of them, as the stage does.
 */
static void digits_of_words(struct limbs a, const u64 *word, size_t words,
			    bool signs)
{
	const u64 e16 = 10000000000000000ULL;
	s16 *digit = a.limb;
	int carry = 0;

	/* Operations read whole vectors of 16 digits. */
	memset(digit, 0, (a.size + 31) / 16 * 16 * sizeof(*digit));
	for (size_t i = 0; i < words; i += 2, digit += 9) {
		u64 high = i + 1 < words ? word[i + 1] : 0;
		u64 low = word[i] % e16, top = high / 100;

		digit[4] = word[i] / e16 + high % 100 * 100;
		for (int j = 0; j < 4; j++, low /= 10000, top /= 10000) {
			digit[j] = low % 10000;
			digit[5 + j] = top % 10000;
		}
	}
	digit = a.limb;
	for (size_t i = 0; signs && i < a.size; i++) {
		digit[i] += carry;
		carry = digit[i] > 5000;
		digit[i] -= carry * 10000;
	}
}

static u64 residue_of_signed(struct limbs a, u64 modulus)
{
	const s16 *digit = a.limb;
	u64 residue = 0;

	for (size_t i = a.size; i--;)
		residue =
			(10000 * residue + digit[i] % (s64)modulus + modulus) %
			modulus;
	return residue;
}

/*
 * Set a number to runs of zeros between a digit -1 and a digit 1, in which each
 * digit borrows from the next: one run in the lower quarter, and runs of
 * @period digits above. ideas.py computes the same number.
 */
static void runs_of_zeros(struct limbs a, size_t period)
{
	s16 *digit = a.limb;
	size_t first = 0, end = a.size / 4;

	memset(digit, 0, a.size * sizeof(*digit));
	for (; end <= a.size; first = end, end += period) {
		digit[first] = -1;
		digit[end - 1] = 1;
	}
}

/* The digits of two numbers are generated, and only the operation is counted. */
static void count_digits(const struct request *ask)
{
	struct fib_account account = FIB_ACCOUNT(account);
	size_t words = ask->size, size = (words + 1) / 2 * 9 + 1;
	u64 *word = kvmalloc_array(words, 8, GFP_KERNEL);
	char *text = kvmalloc_array(words, WORD_DIGITS, GFP_KERNEL);
	struct limbs source = { word, words, 8 };
	struct limbs first, second, result = { 0 };
	bool prints = ask->what == TESTED_TEXT;
	bool minus = ask->what == TESTED_TWICE_MINUS; /* 2 b - a */
	unsigned int drop = dropped(ask->seed);
	struct tested_digits *both = NULL;
	u64 seed = ask->seed;
	ssize_t ret;

	if (!word || !text)
		goto free;
	use_account(&account, seed);
	both = tested_digits_create(&account.call, size);
	if (!both)
		goto free;
	first = (struct limbs){ tested_digit(both, 0), size, 2 };
	second = (struct limbs){ tested_digit(both, 1), size, 2 };
	fill(source, minus ? HALF / 2 : HALF, &seed, 0, drop);
	if (ask->what == TESTED_FIFTH)
		*word -= *word % 5; /* a multiple of 5, like the base */
	digits_of_words(first, word, words, !prints);
	if (ask->ones)
		runs_of_zeros(first, ask->ones);
	fill(source, minus ? HALF : HALF / 2, &seed, 0, drop);
	digits_of_words(second, word, words, !prints);
	begin(&account);
	ret = tested_digits_operate(ask->what, both, text, words * WORD_DIGITS);
	result.limb = tested_digits_result(ask->what, both, &result.size);
	end(&account);
	if (prints)
		answer_digits(text, ret, words * WORD_DIGITS, ask->modulus);
	else if (ret)
		scnprintf(answer, sizeof(answer), "%zd", ret);
	else
		scnprintf(answer, sizeof(answer), "0 %llu",
			  residue_of_signed(result, ask->modulus));
	tested_digits_free(both);
free:
	kvfree(text);
	kvfree(word);
}
#else
static void count_digits(const struct request *ask)
{
}
#endif

static void count_operation(const struct request *ask)
{
	if (ask->what >= TESTED_TWICE_PLUS)
		count_digits(ask);
	else
		count_numbers(ask);
}
#else
struct limbs {
	u64 word;
};

static struct limbs limbs_of_value(const union fib_value *f)
{
	return (struct limbs){ f->word };
}

static u64 residue_of(struct limbs a, u64 modulus)
{
	return a.word % modulus;
}

static void answer_value(const union fib_value *f, u64 n, u64 modulus)
{
}

static void count_create(u64 words)
{
}

static void count_decimal(const struct request *ask)
{
}

static void count_operation(const struct request *ask)
{
}
#endif

static void count_compute(const struct request *ask)
{
	u64 n = ask->size, modulus = ask->modulus;
	struct fib_account account = FIB_ACCOUNT(account);
	struct limbs result = { 0 };
	union fib_value f;
	int ret;

	use_account(&account, ask->seed);
	scalar = ask->alike;
	begin(&account);
	ret = fib_compute(&account.call, n, &f);
	if (!ret && !STAGE_HAS_FFT)
		result = limbs_of_value(&f);
	end(&account);
	scalar = false;
	if (ret) {
		scnprintf(answer, sizeof(answer), "%d", ret);
		return;
	}
	if (STAGE_HAS_FFT)
		answer_value(&f, n, modulus);
	else
		scnprintf(answer, sizeof(answer), "0 %llu",
			  residue_of(result, modulus));
	fib_release(&f);
}

static int ask_set(const char *value, const struct kernel_param *kp)
{
	struct request ask = { 0 };
	unsigned int what, into;
	char verb[16];

	if (sscanf(value, "%15s %llu %llu %llu %d %u %u %llu %llu", verb,
		   &ask.size, &ask.second, &ask.seed, &ask.ones, &ask.alike,
		   &into, &ask.extra, &ask.modulus) != 9 ||
	    into > WITHOUT_ROOM || !ask.modulus || ask.modulus >> 32)
		return -EINVAL;
	ask.into = into;
	scnprintf(answer, sizeof(answer), "%d", -ENOMEM);
	if (!strcmp(verb, "compute")) {
		count_compute(&ask);
	} else if (!strcmp(verb, "decimal")) {
		count_decimal(&ask);
	} else if (!strcmp(verb, "create")) {
		count_create(ask.size);
	} else if (!kstrtouint(verb, 10, &what)) {
		ask.what = what;
		count_operation(&ask);
	} else {
		return -EINVAL;
	}
	return 0;
}

static int ask_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%s %llu\n", answer, allocated);
}

static const struct kernel_param_ops ask_ops = {
	.set = ask_set,
	.get = ask_get,
};
module_param_cb(ask, &ask_ops, NULL, 0600);

extern const char bn_mul[] __weak, bn_square[] __weak;

static int marks_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%lx %lx %lx %lx %lx %lx\n",
			 (unsigned long)mark_begin, (unsigned long)mark_end,
			 (unsigned long)fib_alloc, (unsigned long)fib_yield,
			 (unsigned long)bn_mul, (unsigned long)bn_square);
}

static const struct kernel_param_ops marks_ops = { .get = marks_get };
module_param_cb(marks, &marks_ops, NULL, 0400);

static int __init fibcounted_init(void)
{
	return 0;
}

static void __exit fibcounted_exit(void)
{
}

module_init(fibcounted_init);
module_exit(fibcounted_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Count the instructions of the operations of a stage");
