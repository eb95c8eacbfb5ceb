// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * End the test when the slab allocator is called. memblock runs before slab_is_available(). This
 * file replaces tools/lib/slab.c.
 */
#include <stdio.h>
#include <unistd.h>

#include <linux/slab.h>

__attribute__((noreturn)) static void too_early(const char *name)
{
	dprintf(STDERR_FILENO,
		"it calls %s() before the slab allocator is available\n", name);
	_exit(1);
}

void *kmalloc(size_t size, gfp_t gfp)
{
	(void)size;
	(void)gfp;
	too_early(__func__);
}

void kfree(void *p)
{
	(void)p;
	too_early(__func__);
}
