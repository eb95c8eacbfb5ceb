// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guard the memory between the end of an array and the end of its last page. A function that writes
 * behind an array, and later moves the regions back, leaves a right array. The address sanitizer
 * does not know the arrays, because they lie in the memory that memblock manages.
 */
#include <stdint.h>
#include <string.h>

#include "random.h"

/* Of <sanitizer/asan_interface.h>, which a compiler need not have. */
void __asan_poison_memory_region(const volatile void *begin, size_t size);
void __asan_unpoison_memory_region(const volatile void *begin, size_t size);
void __asan_set_death_callback(void (*callback)(void));
const char *__asan_get_report_description(void);

static struct guard {
	char *begin;
	size_t size;
} guards[KINDS];

static void release(struct guard *guard)
{
	if (guard->size)
		__asan_unpoison_memory_region(guard->begin, guard->size);
	guard->size = 0;
}

/* Report an access to guarded memory. The sanitizer reports all others itself. */
static void dies(void)
{
	if (!strcmp(__asan_get_report_description(), "use-after-poison"))
		wrong("it accesses memory behind the end of an array");
}

/* Called when an array has grown, and thus lies in other pages. */
void memblock_array_moved(struct memblock_type *type);
void memblock_array_moved(struct memblock_type *type)
{
	struct guard *guard = &guards[type == &memblock.reserved];

	__asan_set_death_callback(dies);
	release(guard);
	guard->begin = (char *)(type->regions + type->max);
	guard->size = -(uintptr_t)guard->begin % PAGE_SIZE;
	__asan_poison_memory_region(guard->begin, guard->size);
}

/* Forget all arrays, because memblock begins again. */
void guards_release(void)
{
	for (int i = 0; i < KINDS; i++)
		release(&guards[i]);
}
