// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Adapter for stage 3, where each operation returns a new number.
 */
#include "operands.h"

struct bignum *operand_new(struct fib_call *call, const limb_t *limb,
			   size_t size, size_t room)
{
	struct bignum *a = bn_create(call, size);

	if (IS_ERR(a))
		return NULL;
	memcpy(a->limb, limb, size * sizeof(*limb));
	return a;
}

static struct bignum *apply(const char *op, struct bignum *a, struct bignum *b,
			    size_t bits)
{
	if (!strcmp(op, "add"))
		return bn_add(a, b);
	if (!strcmp(op, "sub"))
		return bn_sub(a, b);
	if (!strcmp(op, "mul"))
		return bn_mul(a, b);
	if (!strcmp(op, "square"))
		return bn_square(a);
	if (!strcmp(op, "lshift"))
		return bn_lshift(a, bits);
	return NULL;
}

struct bignum *operand_apply(struct fib_call *call, const char *op,
			     enum alias alias, struct bignum *old,
			     struct bignum *a, struct bignum *b, size_t bits)
{
	struct bignum *c;

	if (alias != ALIAS_NONE && alias != ALIAS_AB)
		return NULL;
	c = apply(op, a, alias == ALIAS_AB ? a : b, bits);
	return IS_ERR(c) ? NULL : c;
}
