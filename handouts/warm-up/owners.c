// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Warm-up for stage 3: who frees a number?
 *
 * twice, sum_of_squares and power compute the right numbers, but they leak
 * memory. Correct them. The rules are the same as in stage 3:
 *
 *	- Each operation returns a new number, or NULL when there is no memory.
 *	- The function that calls an operation owns the new number: it frees the
 *	  number by give_back, or returns it to its own caller.
 *	- An operation never frees its operands.
 *
 * Compile this file and run it:
 *
 *	gcc -g -Og -fno-omit-frame-pointer -Wall -fsanitize=address,undefined \
 *		-o build/owners work/owners.c
 *	build/owners
 */
#include <stdio.h>
#include <stdlib.h>

struct number {
	long value;
};

static int blocks; /* numbers that are made and not yet freed */
static int until_failure; /* how many more can be made; below 0: no limit */

static struct number *new_number(long value)
{
	struct number *a;

	if (until_failure == 0)
		return NULL;
	until_failure--;
	a = malloc(sizeof(*a));
	if (!a)
		exit(2);
	a->value = value;
	blocks++;
	return a;
}

static void give_back(struct number *a)
{
	if (a)
		blocks--;
	free(a);
}

static struct number *add(const struct number *a, const struct number *b)
{
	return new_number(a->value + b->value);
}

static struct number *mul(const struct number *a, const struct number *b)
{
	return new_number(a->value * b->value);
}

/* Return 2 * x. This needs one intermediate number. */
static struct number *twice(const struct number *x)
{
	struct number *two = new_number(2);

	return mul(two, x);
}

/* Return a * a + b * b. This needs two intermediate numbers. */
static struct number *sum_of_squares(const struct number *a,
				     const struct number *b)
{
	struct number *a2 = mul(a, a);
	struct number *b2 = mul(b, b);

	return add(a2, b2);
}

/* Return x to the power of n. Each step replaces p by a new number. */
static struct number *power(const struct number *x, unsigned int n)
{
	struct number *p = new_number(1);

	for (unsigned int i = 0; i < n; i++)
		p = mul(p, x);
	return p;
}

static struct number three = { 3 }, four = { 4 };

static struct number *try_twice(void)
{
	return twice(&three);
}

static struct number *try_sum_of_squares(void)
{
	return sum_of_squares(&three, &four);
}

static struct number *try_power(void)
{
	return power(&three, 4);
}

/*
 * Test a function: first with enough memory for all numbers, then with memory
 * for one number less each time, down to none. In each case the result must be
 * right, or NULL if a number could not be made, and no number may leak.
 */
static int try(const char *name, struct number *(*function)(void), long right,
	       int numbers)
{
	for (int at = numbers; at >= 0; at--) {
		struct number *result;
		int lost;

		blocks = 0;
		until_failure = at;
		printf("%s, %d of %d numbers can be made: ", name, at, numbers);
		result = function();
		lost = blocks - (result ? 1 : 0);
		if (lost) {
			printf("%d %s\n", abs(lost),
			       lost > 0 ? "not freed" : "freed twice");
			give_back(result);
			return 1;
		}
		if (at < numbers ? !!result :
				   !result || result->value != right) {
			printf("the result is wrong\n");
			return 1;
		}
		give_back(result);
		printf("right\n");
	}
	return 0;
}

int main(void)
{
	int wrong;

	setbuf(stdout, NULL);
	wrong = try("twice", try_twice, 6, 2);
	wrong = wrong ?: try("sum_of_squares", try_sum_of_squares, 25, 3);
	wrong = wrong ?: try("power", try_power, 81, 5);
	if (!wrong)
		printf("Nothing is lost. On to stage 3.\n");
	return wrong;
}
