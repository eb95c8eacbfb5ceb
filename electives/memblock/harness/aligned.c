// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The kernel's tests expect their memory at an address that the address sanitizer's malloc gives
 * them, and abort without it: large blocks begin on a page here.
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
