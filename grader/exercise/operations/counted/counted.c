// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * fibcounted: call the operations of a stage one at a time between two marks,
 * so that the emulator can count the instructions of each: see
 * grader/exercise/operations/ideas.py.
 *
 * The parameter "ask" takes a request, and returns the answer when it is read:
 *
 *	compute N 0 MODULUS	fib_compute() of F(N) between the marks
 *	decimal SIZE SEED MODULUS fib_decimal() of a random number of SIZE words
 *	create SIZE 0 MODULUS	create three numbers of SIZE words of 8 bytes
 *	WHAT SIZE SEED MODULUS	operation WHAT, a number of enum
 *				tested_operation in bignum_adapter.h, on random
 *				numbers of SIZE words, the first one larger
 *
 * The answer is the operation's return value and residues: the residue of F(N),
 * the residue of the digits, or the residues of both operands after the call and
 * of the result. F(N) is not converted, and the digits are those of a random
 * number, so that neither task depends on the other. ideas.py generates the same
 * operands, so it can check the whole answer. The parameter "marks" holds the
 * addresses of both marks, of fib_alloc() and of fib_yield(), and of the stage's
 * bn_mul() and bn_square(), or 0 if it has none.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "account.h"
#include "bignum_adapter.h"

static char answer[128];

static noinline void mark_begin(void)
{
	asm volatile("" : : : "memory");
}

static noinline void mark_end(void)
{
	asm volatile("" : : : "memory");
}

#if STAGE_HAS_NUMBERS
/* The base of the words, or 0 for 2^64; and half of the base. */
#define BASE (STAGE_LIMB_IS_DECIMAL ? 1000000000000000000ULL : 0)
#define HALF (BASE ? BASE / 2 : 1ULL << 63)

/*
 * The limbs of a number as data. The adapter is compiled with a header of the
 * submission, so each number is read through it before the end mark at the
 * latest. A submission that postpones work until a result is read has this work
 * counted, too.
 */
struct limbs {
	const void *limb;
	size_t size, bytes; /* number of limbs, bytes of a limb */
};

static struct limbs limbs_of(struct bignum *a)
{
	return (struct limbs){ tested_limbs(a), tested_size(a),
			       tested_limb_bytes() };
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
 * Fill @a with random words from Knuth's MMIX linear congruential generator.
 * Its upper bits are mixed into the lower ones, which are less random. The top
 * word is from @least to 2 * @least. From *@state = 0, @a is a power of 2, whose
 * only bit is that of @least. operands() in ideas.py does the same.
 */
static void fill(struct bignum *a, size_t words, u64 least, u64 *state)
{
	bool power = !*state;

	for (size_t i = 0; i != words; i++) {
		u64 word = 0;

		if (!power) {
			*state = *state * 6364136223846793005ULL +
				 1442695040888963407ULL;
			word = *state ^ *state >> 32;
		}
		if (BASE)
			word %= BASE;
		if (i + 1 == words)
			word = word % least + least;
		if (tested_limb_bytes() == 4) {
			((u32 *)tested_limbs(a))[2 * i] = word;
			((u32 *)tested_limbs(a))[2 * i + 1] = word >> 32;
		} else {
			((u64 *)tested_limbs(a))[i] = word;
		}
	}
	tested_set_size(a, words * 8 / tested_limb_bytes());
}

/*
 * The number of blocks that hold three numbers: 1 if a single call creates all
 * three.
 */
#define BLOCKS (STAGE_RESULT_IS_PREALLOCATED ? 1 : 3)

static bool create(struct fib_call *call, struct bignum **number, size_t size)
{
	bool made = true;

	for (int i = 0; i < BLOCKS; i++) {
		number[i] = tested_create(call, 3, size);
		made = made && number[i];
	}
	return made;
}

static void release(struct bignum **number)
{
	for (int i = 0; i < BLOCKS; i++)
		if (number[i])
			tested_free(number[i]);
}

static void count_create(u64 words)
{
	struct fib_account account = FIB_ACCOUNT(account);
	struct bignum *number[3];
	bool made;

	mark_begin();
	made = create(&account.call, number, words * 8 / tested_limb_bytes());
	mark_end();
	if (made)
		scnprintf(answer, sizeof(answer), "0\n");
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
		scnprintf(answer, sizeof(answer), "0 %llu\n",
			  residue_of_digits(digits, ret, modulus));
	else
		scnprintf(answer, sizeof(answer), "%zd\n", ret);
}

/* A word has at most 20 decimal digits. */
#define WORD_DIGITS 20

static void count_decimal(u64 words, u64 seed, u64 modulus)
{
	struct fib_account account = FIB_ACCOUNT(account);
	size_t size = words * 8 / tested_limb_bytes();
	size_t bound = words * WORD_DIGITS;
	char *digits = kvmalloc(bound, GFP_KERNEL);
	struct bignum *number[3];
	union fib_value f;
	ssize_t ret;

	if (!digits)
		return;
	if (!create(&account.call, number, size))
		goto release;
	fill(number[0], words, HALF, &seed);
	f.big = number[0];
	mark_begin();
	ret = fib_decimal(&account.call, &f, digits, bound);
	mark_end();
	answer_digits(digits, ret, bound, modulus);
release:
	release(number);
	kvfree(digits);
}

static void count_operation(enum tested_operation what, u64 words, u64 seed,
			    u64 modulus)
{
	struct fib_account account = FIB_ACCOUNT(account);
	size_t size = words * 8 / tested_limb_bytes();
	struct limbs first, second, result = { 0 };
	struct bignum *number[3], *c;
	int ret;

	/* With this capacity, the result does not grow between the marks. */
	if (!create(&account.call, number, 2 * size + 2))
		goto release;
	if (BLOCKS == 1) {
		number[1] = tested_at(number[0], 1);
		number[2] = tested_at(number[0], 2);
	}
	c = number[2];
	if (what == TESTED_INCREASE || what == TESTED_DECREASE) {
		u64 same = seed;

		fill(c, words, HALF, &same); /* its operand, too */
	}
	fill(number[0], words, HALF, &seed);
	fill(number[1], words, HALF / 2, &seed);
	if (what == TESTED_FIFTH) {
		u64 *lowest = tested_limbs(number[0]);

		*lowest -= *lowest % 5; /* a multiple of 5, like the base */
	}
	first = limbs_of(number[0]);
	second = limbs_of(number[1]);
	mark_begin();
	ret = tested_operate(what, &c, number[0], number[1], 1);
	if (!ret && c)
		result = limbs_of(c);
	mark_end();
	if (ret || !c)
		scnprintf(answer, sizeof(answer), "%d\n", ret ?: -ENOMEM);
	else
		scnprintf(answer, sizeof(answer), "0 %llu %llu %llu\n",
			  residue_of(first, modulus),
			  residue_of(second, modulus),
			  residue_of(result, modulus));
	if (c && c != number[2])
		tested_free(c);
release:
	release(number);
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

static void count_create(u64 words)
{
}

static void count_decimal(u64 words, u64 seed, u64 modulus)
{
}

static void count_operation(enum tested_operation what, u64 words, u64 seed,
			    u64 modulus)
{
}
#endif

static void count_compute(u64 n, u64 modulus)
{
	struct fib_account account = FIB_ACCOUNT(account);
	struct limbs result = { 0 };
	union fib_value f;
	int ret;

	mark_begin();
	ret = fib_compute(&account.call, n, &f);
	if (!ret)
		result = limbs_of_value(&f);
	mark_end();
	if (ret) {
		scnprintf(answer, sizeof(answer), "%d\n", ret);
		return;
	}
	scnprintf(answer, sizeof(answer), "0 %llu\n",
		  residue_of(result, modulus));
	fib_release(&f);
}

static int ask_set(const char *value, const struct kernel_param *kp)
{
	u64 size, seed, modulus;
	unsigned int what;
	char verb[16];

	if (sscanf(value, "%15s %llu %llu %llu", verb, &size, &seed,
		   &modulus) != 4 ||
	    !modulus || modulus >> 32)
		return -EINVAL;
	scnprintf(answer, sizeof(answer), "%d\n", -ENOMEM);
	if (!strcmp(verb, "compute"))
		count_compute(size, modulus);
	else if (!strcmp(verb, "decimal"))
		count_decimal(size, seed, modulus);
	else if (!strcmp(verb, "create"))
		count_create(size);
	else if (!kstrtouint(verb, 10, &what))
		count_operation(what, size, seed, modulus);
	else
		return -EINVAL;
	return 0;
}

static int ask_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%s", answer);
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
