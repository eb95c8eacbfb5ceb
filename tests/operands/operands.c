// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Operands on standard input, results on standard output, a line each:
 *
 *	add|sub|mul|square|lshift ALIAS A B	result in hexadecimal
 *	increase|decrease|div5 ca A B		the same of stages that have it
 *	decimal none A 0			result in decimal
 *
 * A and B are hexadecimal without leading zeros, for lshift B is the number of
 * bits; of stages with decimal limbs operands and results are decimal. ALIAS is none, ca, cb, ab or all: which of c = a OP b are one and the
 * same number (where it is ab or all, B must equal A). Anything unexpected ends
 * the program with a line on standard error.
 */
#include <stdio.h>
#include <stdlib.h>

#include "operands.h"

#ifdef LIMB_BASE
#define RADIX 10
#define LIMB_FORMAT "llu"
#define LIMB_BITS 64 /* no stage with decimal limbs shifts */
#else
#define RADIX 16
#define LIMB_FORMAT "llx"
#define LIMB_DIGITS (LIMB_BITS / 4)
#endif

static void __attribute__((noreturn)) quit(const char *what, const char *line)
{
	fflush(stdout);
	fprintf(stderr, "operands: %s: %.60s\n", what, line);
	exit(1);
}

/* Limbs of a number; @size is how many. */
static limb_t *parse(const char *text, size_t *size)
{
	size_t digits = strlen(text);
	limb_t *limb;

	*size = (digits + LIMB_DIGITS - 1) / LIMB_DIGITS;
	limb = calloc(*size, sizeof(*limb));
	if (!limb || !digits)
		quit("not a number", text);
	for (size_t i = 0; i < digits; i++) {
		size_t place = (digits - 1 - i) / LIMB_DIGITS;
		char c = text[i];
		limb_t value = c <= '9' ? c - '0' : c - 'a' + 10;

		if (value >= RADIX)
			quit("not a digit", text + i);
		limb[place] = limb[place] * RADIX + value;
	}
	return limb;
}

static struct bignum *operand(struct fib_call *call, const char *text,
			      size_t room)
{
	struct bignum *a;
	size_t size;
	limb_t *limb = parse(text, &size);

	a = operand_new(call, limb, size, max(room, size));
	if (!a)
		quit("no memory", text);
	free(limb);
	return a;
}

/* Is it @text, still? */
static bool unchanged(const struct bignum *a, const char *text)
{
	size_t size;
	limb_t *limb = parse(text, &size);
	bool same =
		a->size == size && !memcmp(a->limb, limb, size * sizeof(*limb));

	free(limb);
	return same;
}

static void print(const struct bignum *a)
{
	if (!a->size || (a->size > 1 && !a->limb[a->size - 1]))
		quit("the result has a leading zero or no limb", "");
	printf("%" LIMB_FORMAT, (u64)a->limb[a->size - 1]);
	for (size_t i = a->size - 1; i-- > 0;)
		printf("%0*" LIMB_FORMAT, LIMB_DIGITS, (u64)a->limb[i]);
	putchar('\n');
}

static void decimal(const char *text)
{
	struct fib_call call;
	union fib_value f;
	/* Four bits are more than a digit. */
	size_t bound = strlen(text) * 4 / 3 + 1;
	char *digits = malloc(bound);
	ssize_t count;

	trial_begin(&call);
	f.big = operand(&call, text, 0);
	count = fib_decimal(&call, &f, digits, bound);
	if (count <= 0)
		quit("decimal fails", text);
	if (!unchanged(f.big, text))
		quit("decimal changes its operand", text);
	printf("%.*s\n", (int)count, digits);
	bn_free(f.big);
	free(digits);
	if (call.blocks)
		quit("decimal leaves blocks", text);
}

static void apply(const char *op, const char *alias_name, const char *a_text,
		  const char *b_text)
{
	static const char *const names[] = { "none", "ca", "cb", "ab", "all" };
	bool shift = !strcmp(op, "lshift");
	size_t bits = shift ? strtoul(b_text, NULL, 16) : 0;
	/* The room that stage 7 asks for, of the result and of the operands. */
	size_t a_size = strlen(a_text) / LIMB_DIGITS + 1;
	size_t b_size =
		shift ? bits / LIMB_BITS + 1 : strlen(b_text) / LIMB_DIGITS + 1;
	size_t room = a_size + max(a_size, b_size);
	struct bignum *a, *b, *old, *c;
	struct fib_call call;
	unsigned int alias = 0;

	while (alias < 5 && strcmp(names[alias], alias_name))
		alias++;
	if (alias == 5)
		quit("no such alias", alias_name);
	trial_begin(&call);
	a = operand(&call, a_text, room);
	b = operand(&call, shift ? "0" : b_text, room);
	old = operand(&call, "1234567890123456789012", room);

	c = operand_apply(&call, op, alias, old, a, b, bits);
	if (!c)
		quit("no result", op);
	print(c);
	if (c != a && !unchanged(a, a_text))
		quit("the first operand has changed", a_text);
	if (c != b && !shift && !unchanged(b, b_text))
		quit("the second operand has changed", b_text);
	if (c != a && c != b && c != old)
		bn_free(c);
	bn_free(old);
	bn_free(b);
	bn_free(a);
	if (call.blocks || call.error)
		quit("blocks are left, or an error is noted", op);
}

int main(void)
{
	char *line = NULL, *word[4];
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0) {
		char *rest = line;

		for (int i = 0; i < 4; i++) {
			word[i] = strsep(&rest, " \n");
			if (!word[i])
				quit("not four words", line);
		}
		if (!strcmp(word[0], "decimal"))
			decimal(word[2]);
		else
			apply(word[0], word[1], word[2], word[3]);
		/* What came before an assertion fails is not lost. */
		fflush(stdout);
	}
	free(line);
	return 0;
}
