/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Floating point and vectors, for a stage whose manifest lists vector files.
 * The vector registers belong to the user's process, and a section of a stage
 * uses them temporarily.
 */
#ifndef FIBDRV_VECTOR_H
#define FIBDRV_VECTOR_H

#include "stage.h"

/**
 * fib_has_avx2() - return whether sections may use AVX2 and FMA on this machine
 */
bool fib_has_avx2(void);

/**
 * fib_fpu_begin() - begin a section that uses vector registers
 *
 * The section must end in the same function and within 0.1 ms, because until
 * then no other task can use this CPU. It must not sleep, and so it must not
 * allocate memory or call fib_account_work.
 */
void fib_fpu_begin(void);

/**
 * fib_fpu_end() - end the section; the contents of vector registers are lost
 */
void fib_fpu_end(void);

#endif
