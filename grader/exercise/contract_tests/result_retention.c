// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Check that compute stores the number itself and decimal only converts it. If
 * decimal computed the number, the time of compute would mean nothing.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "contract_tests.h"

/* A number with fewer digits has too few words for this check. */
#define LEAST_DIGITS 100
/* The maximum number of words that are changed, one at a time. */
#define WORDS 24

/*
 * Return whether a word may be one limb or two: the word and its halves must
 * not be small, and it must not look like a kernel address, which in user-mode
 * Linux is from 0x60000000 on. The check flips the lowest bit of a limb, which
 * keeps it valid in any base; a flipped address would crash a right stage.
 */
static bool like_limbs(u64 word)
{
	bool address = word >> 48 == 0xffff || is_vmalloc_addr((void *)word) ||
		       virt_addr_valid(word) ||
		       (word >= 0x60000000 && word < 0xa0000000);

	return word >= 1 << 24 && !address && (u32)word >= 1 << 16 &&
	       (!(word >> 32) || word >> 52);
}

/*
 * Return the number of words in a call's blocks that may be limbs. Set *@at to
 * the address of word number @index among these words.
 */
static u64 count_words(struct contract_call *t, u64 index, u64 **at)
{
	u64 count = 0;
	u64 *word;

	for (u64 i = 0; (word = contract_word(t, i)); i++) {
		if (!like_limbs(*word))
			continue;
		if (count++ == index)
			*at = word;
	}
	return count;
}

/*
 * Return whether a block holds the number itself, and not only values to
 * compute it from.
 */
static bool is_kept(struct contract_call *t, const char *digits, ssize_t count)
{
	const char *block;
	size_t bytes;

	for (u64 i = 0; (block = contract_block(t, i, &bytes)); i++)
		if (number_in(block, bytes, digits, count))
			return true;
	return false;
}

static void change_words(struct contract_call *t, const union fib_value *f,
			 char *digits, ssize_t count)
{
	u64 needed = div_u64((u64)count * 332, 6400);
	u64 hash = test_digest(digits, count), changed = 0, total, tried;
	bool kept = is_kept(t, digits, count);
	u64 *word = NULL;

	total = count_words(t, U64_MAX, &word);
	tried = min_t(u64, total, WORDS);
	for (u64 i = 0; i < tried && !contract_wrong(); i++) {
		ssize_t ret;

		count_words(t, div64_u64(i * total, tried), &word);
		*word ^= 1;
		ret = fib_decimal(&t->call, f, digits, count + 1);
		changed += ret != count || test_digest(digits, count) != hash;
		*word ^= 1;
	}
	/*
	 * Half of the expected effect is enough, because the blocks may hold
	 * other numbers, too.
	 */
	if (4 * total < needed || 2 * changed * total < tried * needed)
		complain(
			"compute leaves the work to decimal, whose digits depend on %llu of %llu words that compute keeps",
			changed, tried);
	else if (!kept && !contract_wrong())
		complain(
			"compute leaves work to decimal, because no block holds the number itself when compute returns");
}

void try_retention(u64 n)
{
	size_t size = test_digits_bound(n) + 1;
	struct contract_call t = {};
	union fib_value f = {};
	ssize_t count;
	char *digits;

	digits = kvmalloc(size, GFP_KERNEL);
	contract_begin(&t);
	if (digits && !fib_compute(&t.call, n, &f)) {
		count = fib_decimal(&t.call, &f, digits, size);
		if (count >= LEAST_DIGITS)
			change_words(&t, &f, digits, count);
		fib_release(&f);
	}
	contract_end(&t, "after release");
	kvfree(digits);
}

void result_retention(u64 n, char *answer, size_t answer_size)
{
	try_retention(n);
	scnprintf(answer, answer_size, "retention\n");
}
