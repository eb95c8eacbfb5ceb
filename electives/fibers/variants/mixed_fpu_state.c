// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Replaces context_um.c or context_x86.c: a thread named "wide" has larger
 * registers than others, as with AMX, which no emulator supports. Only the size
 * is simulated.
 */
#include <linux/sched.h>
#include <linux/string.h>

#include "context.h"

size_t true_size(void);

#define context_size true_size
#ifdef CONFIG_UML
#include "context_um.c"
#else
#include "context_x86.c"
#endif
#undef context_size

size_t context_size(void)
{
	return true_size() + (strcmp(current->comm, "wide") ? 0 : 8192);
}
