/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What the operand tests ask of a stage's arithmetic: an adapter for each stage
 * whose interface differs. A number comes and goes as limbs of that stage.
 */
#ifndef OPERANDS_H
#define OPERANDS_H

#include "trial.h"

#include "bignum.h"

/* Which numbers are one and the same object. */
enum alias { ALIAS_NONE, ALIAS_CA, ALIAS_CB, ALIAS_AB, ALIAS_ALL };

/**
 * operand_new() - a number from @size limbs, with room for @room of them
 *
 * The operands of a test are made by it, and what @room is for: a stage whose
 * numbers do not grow. The limbs are without leading zeros.
 */
struct bignum *operand_new(struct fib_call *call, const limb_t *limb,
			   size_t size, size_t room);

/**
 * operand_apply() - c = a OP b, or a OP bits, with the stage's own function
 * @op: "add", "sub", "mul", "square" or "lshift"; from stage 9 on "increase",
 *	"decrease" and "div5", whose result is in a, and b one limb
 * @old: any number; what c holds before, where c is neither a nor b
 *
 * Return: the number that holds the result, one of the operands or a new one;
 * NULL when the stage reports an error, or has no such case: then no error is
 * noted in the call.
 */
struct bignum *operand_apply(struct fib_call *call, const char *op,
			     enum alias alias, struct bignum *old,
			     struct bignum *a, struct bignum *b, size_t bits);

#endif
