// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * fibcounted: call the operations of a stage one at a time between two marks,
 * so that the emulator can count the instructions of each: see
 * grader/exercise/operations/ideas.py.
 *
 * The parameter "ask" takes a request, and then holds the answer:
 *
 *	compute N 0 MODULUS	fib_compute() of F(N) between the marks
 *	decimal N 0 MODULUS	fib_decimal() of F(N) between the marks
 *	create SIZE 0 MODULUS	create three numbers of SIZE words of 8 bytes
 *	WHAT SIZE SEED MODULUS	operation WHAT, a number of enum
 *				tested_operation in bignum_adapter.h, on random
 *				numbers of SIZE words
 *
 * The answer is what the operation returned, and residues: of the digits of
 * F(N), or of both operands and the result. The parameter "marks" holds the
 * addresses of both marks and of fib_alloc().
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

static u64 residue_of_digits(const char *digits, size_t count, u64 modulus)
{
	u64 residue = 0;

	while (count--)
		div64_u64_rem(10 * residue + (*digits++ - '0'), modulus,
			      &residue);
	return residue;
}

static void count_whole(bool computing, u64 n, u64 modulus)
{
	struct fib_account account = FIB_ACCOUNT(account);
	size_t bound = n / 4 + 2;
	char *digits = kvmalloc(bound, GFP_KERNEL);
	union fib_value f;
	ssize_t ret;

	if (!digits)
		return;
	if (computing)
		mark_begin();
	ret = fib_compute(&account.call, n, &f);
	if (computing)
		mark_end();
	if (!ret) {
		if (!computing)
			mark_begin();
		ret = fib_decimal(&account.call, &f, digits, bound);
		if (!computing)
			mark_end();
		fib_release(&f);
	}
	if (ret > 0 && ret <= bound)
		scnprintf(answer, sizeof(answer), "0 %llu\n",
			  residue_of_digits(digits, ret, modulus));
	else
		scnprintf(answer, sizeof(answer), "%zd\n", ret);
	kvfree(digits);
}

#if STAGE_HAS_NUMBERS
#define BASE (STAGE_LIMB_IS_DECIMAL ? 1000000000000000000ULL : 0)

static u64 limb_at(struct bignum *a, size_t i)
{
	return tested_limb_bytes() == 4 ? ((u32 *)tested_limbs(a))[i] :
					  ((u64 *)tested_limbs(a))[i];
}

static u64 residue_of(struct bignum *a, u64 modulus)
{
	u64 half = (1ULL << 32) % modulus, base = half, residue = 0;

	if (tested_limb_bytes() == 8)
		base = BASE ? BASE % modulus : half * half % modulus;
	for (size_t i = tested_size(a); i--;)
		residue = (residue * base + limb_at(a, i) % modulus) % modulus;
	return residue;
}

/*
 * Fill @a with random limbs from Knuth's MMIX linear congruential generator.
 * Its upper bits are mixed into the lower ones, which are less random.
 */
static void fill(struct bignum *a, size_t size, u64 *state)
{
	for (size_t i = 0; i != size; i++) {
		u64 limb;

		*state = *state * 6364136223846793005ULL +
			 1442695040888963407ULL;
		limb = *state ^ *state >> 32;
		if (BASE)
			limb %= BASE;
		if (i + 1 == size)
			limb |= 1;
		if (tested_limb_bytes() == 4)
			((u32 *)tested_limbs(a))[i] = limb;
		else
			((u64 *)tested_limbs(a))[i] = limb;
	}
	tested_set_size(a, size);
}

/*
 * The blocks that hold three numbers: one if a single call creates all three.
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

static void count_operation(enum tested_operation what, u64 words, u64 seed,
			    u64 modulus)
{
	struct fib_account account = FIB_ACCOUNT(account);
	size_t size = words * 8 / tested_limb_bytes();
	struct bignum *number[3], *c;
	int ret;

	/* The result has enough capacity not to grow during the count. */
	if (!create(&account.call, number, 2 * size + 2))
		goto release;
	if (BLOCKS == 1) {
		number[1] = tested_at(number[0], 1);
		number[2] = tested_at(number[0], 2);
	}
	fill(number[0], size, &seed);
	fill(number[1], size, &seed);
	c = number[2];
	mark_begin();
	ret = tested_operate(what, &c, number[0], number[1], 1);
	mark_end();
	if (ret || !c)
		scnprintf(answer, sizeof(answer), "%d\n", ret ?: -ENOMEM);
	else
		scnprintf(answer, sizeof(answer), "0 %llu %llu %llu\n",
			  residue_of(number[0], modulus),
			  residue_of(number[1], modulus),
			  residue_of(c, modulus));
	if (c && c != number[2])
		tested_free(c);
release:
	release(number);
}
#else
static void count_create(u64 words)
{
}

static void count_operation(enum tested_operation what, u64 words, u64 seed,
			    u64 modulus)
{
}
#endif

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
	if (!strcmp(verb, "compute") || !strcmp(verb, "decimal"))
		count_whole(verb[0] == 'c', size, modulus);
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

static int marks_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%lx %lx %lx\n",
			 (unsigned long)mark_begin, (unsigned long)mark_end,
			 (unsigned long)fib_alloc);
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
MODULE_DESCRIPTION("The operations of a stage of fibdrv, to be counted");
