// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The beginning of the tests of single functions. alone.py appends this file
 * and the tests to the preprocessed text of the stage's file that contains the
 * functions, so a test can call static functions. It names the function alone()
 * of each test after the function under test.
 *
 * alone() returns a description of what is wrong, or "right". Its argument is
 * an account for memory and work.
 */
extern u64 alone_state;

/* Return the next number of Knuth's linear congruential generator, mixed. */
static inline u64 alone_random(void)
{
	alone_state =
		alone_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return alone_state ^ alone_state >> 29;
}
