// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Adapter for stages 9 to 12, which have some operations more.
 */
#include "operands.h"

struct bignum *operand_new(struct fib_call *call, const limb_t *limb,
			   size_t size, size_t room)
{
	struct bignum *a = bn_create(call, 1, room);

	if (IS_ERR(a))
		return NULL;
	memcpy(a->limb, limb, size * sizeof(*limb));
	a->size = size;
	return a;
}

struct bignum *operand_apply(struct fib_call *call, const char *op,
			     enum alias alias, struct bignum *old,
			     struct bignum *a, struct bignum *b, size_t bits)
{
	struct bignum *c = old;
	int err = 0;

	if (alias == ALIAS_CA || alias == ALIAS_ALL)
		c = a;
	if (alias == ALIAS_CB)
		c = b;
	if (alias == ALIAS_AB || alias == ALIAS_ALL)
		b = a;
	if (!strcmp(op, "add"))
		bn_add(c, a, b);
	else if (!strcmp(op, "sub"))
		bn_sub(c, a, b);
	else if (!strcmp(op, "mul"))
		err = bn_mul(c, a, b);
	else if (!strcmp(op, "square"))
		err = bn_square(c, a);
	else if (alias != ALIAS_CA)
		return NULL;
	else if (!strcmp(op, "increase"))
		bn_increase(a, b->limb[0]);
	else if (!strcmp(op, "decrease"))
		bn_decrease(a, b->limb[0]);
	else if (!strcmp(op, "div5"))
		bn_div5(a, a);
	else
		return NULL;
	return err ? NULL : c;
}
