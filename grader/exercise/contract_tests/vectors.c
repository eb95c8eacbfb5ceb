// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The functions of vector.h, with a test for processors without AVX2: the verb
 * "scalar N" and "scalar-once N". Then fib_has_avx2() returns false, and a stage must not begin a
 * section. They also measure the sections.
 */
#define fib_has_avx2 processor_has_avx2
#define fib_fpu_begin processor_fpu_begin
#define fib_fpu_end processor_fpu_end
#include "vector.c"
#undef fib_has_avx2
#undef fib_fpu_begin
#undef fib_fpu_end

#include "contract_tests.h"

/* In vector.h these functions have the other names here. */
bool fib_has_avx2(void);
void fib_fpu_begin(void);
void fib_fpu_end(void);

/* The shortest duration of each section in all calls for one n, in ticks. */
static u64 shortest[8192];
static size_t section;
static bool is_first;
static u64 began;

void sections_begin(bool first)
{
	section = 0;
	is_first = first;
}

u64 sections_longest(void)
{
	u64 longest = 0;

	for (size_t i = 0; i < min(section, ARRAY_SIZE(shortest)); i++)
		longest = max(longest, shortest[i]);
	return longest;
}

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
	began = ticks();
}

void fib_fpu_end(void)
{
	u64 took = ticks() - began;

	if (section < ARRAY_SIZE(shortest) &&
	    (is_first || took < shortest[section]))
		shortest[section] = took;
	section++;
	processor_fpu_end();
}

void without_vectors(void (*run)(u64 n, char *answer, size_t answer_size),
		     u64 n, char *answer, size_t answer_size)
{
	scalar = true;
	run(n, answer, answer_size);
	scalar = false;
}
