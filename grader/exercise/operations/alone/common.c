// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The beginning of the tests of single functions. alone.py appends this file
 * and the tests to the preprocessed text of the stage's file that contains the
 * functions, so a test can call static functions. It names the function alone()
 * of each test after the function under test. The names that begin with alone_
 * get a prefix that depends on the texts, so that no text can declare them.
 *
 * alone() returns a description of what is wrong, or "right". Its argument is
 * an account for memory and work.
 */
extern u64 alone_state __asm__("alone_state");

/* The base of decimal limbs; 0 if limbs are binary. */
extern const u64 alone_base __asm__("alone_base");

/* Whether a sum or a difference may replace an operand. */
extern const u64 alone_in_place __asm__("alone_in_place");

/* Return the next number of Knuth's linear congruential generator, mixed. */
static inline u64 alone_random(void)
{
	alone_state =
		alone_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return alone_state ^ alone_state >> 29;
}

/* Return a random word; one in four is 0, a power of two, or as large as possible. */
static inline u64 alone_limb(void)
{
	switch (alone_random() % 12) {
	case 0:
		return 0;
	case 1:
		return 1ULL << alone_random() % 64;
	case 2:
		return -1;
	}
	return alone_random();
}

/* The most limbs of a number that alone_size() returns. */
enum { alone_most = 2000 };

/*
 * Return a size in limbs: each size up to @most in turn, and in each tenth call
 * a random one, up to a random power of two.
 */
static inline size_t alone_size(int again, size_t most)
{
	if (again % 10)
		return again % most + 1;
	return 1 + alone_random() % (alone_most >> alone_random() % 11);
}

/* Return the limb products that have been passed to fib_account_work so far. */
u64 alone_announced(void) __asm__("alone_announced");

/* The value of ENOMEM, whose macro is gone from a preprocessed text. */
enum { alone_enomem = 12 };

/* Return the bytes of all blocks that are allocated. */
u64 alone_held(void) __asm__("alone_held");

/* Return a * b + c modulo 2^61 - 1. */
static inline u64 alone_mod(u64 a, u64 b, u64 c)
{
	return ((unsigned __int128)a * b + c) % ((1ULL << 61) - 1);
}

/* Return the number in some bytes, the lowest first, modulo 2^61 - 1. */
static inline u64 alone_residue(const void *number, size_t bytes)
{
	const unsigned char *byte = number;
	u64 residue = 0;

	while (bytes--)
		residue = alone_mod(residue, 256, byte[bytes]);
	return residue;
}

/* F(2k) of this k does not fit on the stack of a call. */
enum { alone_k = 24300, alone_words = 528 };

/* The words of a number of these tests, which may have more room than it needs. */
enum { alone_room = 8 * alone_words };

/* Return a random k up to alone_k, which is as likely in each octave. */
static inline int alone_long(int again)
{
	return again ? 41 + alone_random() % (alone_k >> alone_random() % 9) :
		       alone_k;
}

/* Store F(@k) and the number after it, the lowest word first. */
static inline void alone_fibonacci(int k, u32 *a, u32 *b)
{
	memset(a, 0, alone_words * sizeof(*a));
	memset(b, 0, alone_words * sizeof(*b));
	b[0] = 1;
	while (k--) {
		u64 sum = 0;

		for (int i = 0; i < alone_words; i++) {
			sum += (u64)a[i] + b[i];
			a[i] = b[i];
			b[i] = sum;
			sum >>= 32;
		}
	}
}

/* Return the bytes of a number up to its highest word that is not 0. */
static inline size_t alone_bytes(const u32 *a)
{
	size_t words = alone_words;

	while (!a[words - 1])
		words--;
	return words * sizeof(*a);
}
