// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Allocate large blocks at page boundaries. The kernel's tests abort if a block
 * is not aligned to a page boundary. The address sanitizer's malloc aligns
 * large blocks; the C library's malloc does not.
 */
#include <stdlib.h>

#define PAGE 4096u

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	if (size < PAGE)
		return __real_malloc(size);
	return aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);
}
