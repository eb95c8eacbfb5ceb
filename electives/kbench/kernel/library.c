// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Other library functions that small programs call. */
#include <linux/kernel.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "kbench.h"
#include "shims.h"

/* The exit status that a shell shows after SIGABRT. */
#define ABORTED (128 + 6)

void kb_exit(int status)
{
	kbench_leave(status);
}

void kb_abort(void)
{
	kbench_give_up(ABORTED, "abort was called");
}

void kb_assert_fail(const char *claim, const char *file, unsigned int line,
		    const char *function)
{
	kbench_give_up(ABORTED, "assertion in %s, %s:%u: %s", function, file,
		       line, claim);
}

int kb_abs(int x)
{
	return x < 0 ? -x : x;
}

long kb_labs(long x)
{
	return x < 0 ? -x : x;
}

int kb_atoi(const char *text)
{
	unsigned int value = 0;
	bool minus;

	text = skip_spaces(text);
	minus = *text == '-';
	if (*text == '-' || *text == '+')
		text++;
	while (*text >= '0' && *text <= '9')
		value = value * 10 + (unsigned int)(*text++ - '0');
	return (int)(minus ? 0 - value : value);
}

/*
 * kb_rand() and glibc's rand() return different numbers. A program that needs
 * the same numbers everywhere must contain its own generator.
 */
static unsigned long long seed = 1;

void kb_srand(unsigned int value)
{
	seed = value;
}

int kb_rand(void)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (int)(seed >> 33);
}

/* Linux 7 no longer has its own strncpy(). */
char *kb_strncpy(char *to, const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	memcpy(to, text, length);
	memset(to + length, 0, size - length);
	return to;
}

char *kb_strrchr(const char *text, int byte)
{
	const char *found = NULL;

	do {
		if (*text == (char)byte)
			found = text;
	} while (*text++);
	return (char *)found;
}

void kb_qsort(void *base, size_t count, size_t size,
	      int (*compare)(const void *a, const void *b))
{
	sort(base, count, size, compare, NULL);
}
