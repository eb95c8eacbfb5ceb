// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Adapter for stages 4 to 6, where the result goes into a number that grows.
 */
#include "operands.h"

struct bignum *operand_new(struct fib_call *call, const limb_t *limb,
			   size_t size, size_t room)
{
	struct bignum *a = bn_create(call, size);

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
	int err;

	if (alias == ALIAS_CA || alias == ALIAS_ALL)
		c = a;
	if (alias == ALIAS_CB)
		c = b;
	if (alias == ALIAS_AB || alias == ALIAS_ALL)
		b = a;
	if (!strcmp(op, "add"))
		err = bn_add(c, a, b);
	else if (!strcmp(op, "sub"))
		err = bn_sub(c, a, b);
	else if (!strcmp(op, "mul"))
		err = bn_mul(c, a, b);
	else if (!strcmp(op, "square"))
		err = bn_square(c, a);
	else if (!strcmp(op, "lshift"))
		err = bn_lshift(c, a, bits);
	else
		return NULL;
	return err ? NULL : c;
}
