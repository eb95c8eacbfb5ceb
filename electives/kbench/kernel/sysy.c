// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The library of SysY, the language of compiler courses. The module and the
 * process that it is compared with use this same source.
 */
#ifdef __KERNEL__
#include "kbench.h"
#include "shims.h"
#else
#include "sysy_native.h"
#endif

int kb_getint(void)
{
	int x = 0;

	kb_scanf("%d", &x);
	return x;
}

int kb_getch(void)
{
	return kb_getchar();
}

int kb_getarray(int *to)
{
	int count = kb_getint();

	for (int i = 0; i < count; i++)
		to[i] = kb_getint();
	return count;
}

void kb_putint(int x)
{
	kb_printf("%d", x);
}

void kb_putch(int byte)
{
	kb_putchar(byte);
}

void kb_putarray(int count, const int *from)
{
	kb_printf("%d:", count);
	for (int i = 0; i < count; i++)
		kb_printf(" %d", from[i]);
	kb_printf("\n");
}

/* These functions do nothing, because all of main() is measured. */
void kb_starttime(int line)
{
	(void)line;
}

void kb_stoptime(int line)
{
	(void)line;
}
