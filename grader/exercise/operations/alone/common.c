// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The beginning of each test of one function. alone.py appends this file and
 * the test to the preprocessed text of the stage's file that contains the
 * function, so a test can call static functions.
 */

/**
 * alone() - test the function
 * @call: an account for memory and work
 *
 * Return: a description of what is wrong, or "right".
 */
const char *alone(struct fib_call *call);

static u64 alone_state = 1;

/* Return the next number of Knuth's linear congruential generator, mixed. */
static inline u64 alone_random(void)
{
	alone_state =
		alone_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return alone_state ^ alone_state >> 29;
}
