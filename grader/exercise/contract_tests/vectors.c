// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The functions of vector.h, with a test for processors without AVX2: the verb
 * "scalar N". Then fib_has_avx2() returns false, and a stage must not begin a
 * section.
 */
#define fib_has_avx2 processor_has_avx2
#define fib_fpu_begin processor_fpu_begin
#include "vector.c"
#undef fib_has_avx2
#undef fib_fpu_begin

#include "contract_tests.h"

/* In vector.h these functions have the other names here. */
bool fib_has_avx2(void);
void fib_fpu_begin(void);

static bool scalar;

bool fib_has_avx2(void)
{
	return !scalar && processor_has_avx2();
}

void fib_fpu_begin(void)
{
	if (scalar)
		complain(
			"a section uses vector registers although fib_has_avx2 returns false");
	processor_fpu_begin();
}

void without_vectors(u64 n, char *answer, size_t answer_size)
{
	scalar = true;
	top(n, answer, answer_size);
	scalar = false;
}
