/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Floating point and vectors for a stage whose manifest names vector files. The
 * registers belong to the user's process: a section borrows them.
 */
#ifndef FIBDRV_VECTOR_H
#define FIBDRV_VECTOR_H

#include "stage.h"

/**
 * fib_has_avx2() - whether sections may use AVX2 and FMA here
 */
bool fib_has_avx2(void);

/**
 * fib_fpu_begin() - begin a section that uses vector registers
 *
 * The section must end in the same function, within 0.1 ms: until then no other
 * task gets this CPU. It must not sleep, and so not take memory nor call fib_account_work.
 */
void fib_fpu_begin(void);

/**
 * fib_fpu_end() - end the section; what is in vector registers is lost
 */
void fib_fpu_end(void);

#endif
