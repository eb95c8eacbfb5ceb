// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Report to race.c the accesses to memory by the kernel's functions for strings
 * and memory, which the compiler does not instrument. A driver may use only
 * those of these functions that the tables below name: driver_contract.py
 * reads the tables.
 */
/* With this option, a header of the kernel declares functions __real_*, too. */
#undef CONFIG_FORTIFY_SOURCE

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "call_trace.h"
#define FIRST_KIT
#include "may_fault.h"

#define PLACE __builtin_return_address(0)

/* Report a read of a text and its '\0', of at most @most bytes. */
static void reads_text(const char *text, size_t most, void *place)
{
	size_t size = 0;

	while (size < most && text[size])
		size++;
	race_range(text, size + (size < most), false, place);
}

/*
 * The functions that take only numbers and addresses. A wrapper passes on five
 * arguments, @a to @e, which is right for any smaller number of them. The
 * functions are weak, because no kernel has all of them.
 */
#define FUNCTION(name, ...)                                                  \
	unsigned long __weak __real_##name(unsigned long a, unsigned long b, \
					   unsigned long c, unsigned long d, \
					   unsigned long e);                 \
	unsigned long __wrap_##name(unsigned long a, unsigned long b,        \
				    unsigned long c, unsigned long d,        \
				    unsigned long e);                        \
	unsigned long __wrap_##name(unsigned long a, unsigned long b,        \
				    unsigned long c, unsigned long d,        \
				    unsigned long e)                         \
	{                                                                    \
		__VA_ARGS__;                                                 \
		return __real_##name(a, b, c, d, e);                         \
	}
#define READS(address, size) race_range((void *)(address), size, false, PLACE)
#define WRITES(address, size) race_range((void *)(address), size, true, PLACE)
#define TEXT(address) reads_text((void *)(address), SIZE_MAX, PLACE)
#define TEXT_TO(address, most) reads_text((void *)(address), most, PLACE)

FUNCTION(memcpy, READS(b, c), WRITES(a, c))
FUNCTION(memmove, READS(b, c), WRITES(a, c))
FUNCTION(memset, WRITES(a, c))
FUNCTION(memcmp, READS(a, c), READS(b, c))
FUNCTION(memchr, READS(a, c))
FUNCTION(memchr_inv, READS(a, c))
FUNCTION(strlen, TEXT(a))
FUNCTION(strnlen, TEXT_TO(a, b))
FUNCTION(strcmp, TEXT(a), TEXT(b))
FUNCTION(strncmp, TEXT_TO(a, c), TEXT_TO(b, c))
FUNCTION(strcpy, TEXT(b), WRITES(a, 1))
FUNCTION(strncpy, TEXT_TO(b, c), WRITES(a, c))
FUNCTION(strlcpy, TEXT(b), WRITES(a, c))
FUNCTION(strscpy, TEXT_TO(b, c), WRITES(a, c))
FUNCTION(sized_strscpy, TEXT_TO(b, c), WRITES(a, c))
FUNCTION(strchr, TEXT(a))
FUNCTION(strrchr, TEXT(a))
FUNCTION(strnchr, TEXT_TO(a, b))
FUNCTION(skip_spaces, TEXT(a))
FUNCTION(strim, TEXT(a), WRITES(a, 1))
FUNCTION(kstrtoint, TEXT(a), WRITES(c, sizeof(int)))
FUNCTION(kstrtouint, TEXT(a), WRITES(c, sizeof(int)))
FUNCTION(kstrtoll, TEXT(a), WRITES(c, sizeof(long long)))
FUNCTION(kstrtoull, TEXT(a), WRITES(c, sizeof(long long)))
FUNCTION(_kstrtol, TEXT(a), WRITES(c, sizeof(long)))
FUNCTION(_kstrtoul, TEXT(a), WRITES(c, sizeof(long)))
FUNCTION(kstrtou8, TEXT(a), WRITES(c, 1))
FUNCTION(kstrtos8, TEXT(a), WRITES(c, 1))
FUNCTION(kstrtou16, TEXT(a), WRITES(c, 2))
FUNCTION(kstrtos16, TEXT(a), WRITES(c, 2))
FUNCTION(kstrtobool, TEXT(a), WRITES(b, 1))
FUNCTION(kstrtoint_from_user, first_may_fault(), WRITES(d, sizeof(int)))
FUNCTION(kstrtouint_from_user, first_may_fault(), WRITES(d, sizeof(int)))
FUNCTION(kstrtol_from_user, first_may_fault(), WRITES(d, sizeof(long)))
FUNCTION(kstrtoul_from_user, first_may_fault(), WRITES(d, sizeof(long)))
FUNCTION(kstrtoll_from_user, first_may_fault(), WRITES(d, sizeof(long long)))
FUNCTION(kstrtoull_from_user, first_may_fault(), WRITES(d, sizeof(long long)))
FUNCTION(simple_strtol, TEXT(a))
FUNCTION(simple_strtoul, TEXT(a))
FUNCTION(simple_strtoll, TEXT(a))
FUNCTION(simple_strtoull, TEXT(a))

/* The functions with a format. */
struct arguments {
	va_list list;
};

/* Return whether a character may stand before the letter of a conversion. */
static bool is_flag(char character)
{
	for (const char *flag = "-+ #hlLqjzt"; *flag; flag++)
		if (*flag == character)
			return true;
	return false;
}

/*
 * Return the letter of the next conversion in a format: the address behind the
 * flags, width, precision and length. Take the arguments of width and
 * precision; @most is the precision. Return NULL if there is no conversion.
 */
static const char *conversion(const char *format, struct arguments *arguments,
			      size_t *most)
{
	bool precise = false;

	while (*format && *format != '%')
		format++;
	if (!*format)
		return NULL;
	*most = SIZE_MAX;
	while (*++format) {
		if (*format == '.') {
			precise = true;
			*most = 0;
		} else if (*format == '*') {
			int value = va_arg(arguments->list, int);

			if (precise)
				*most = value < 0 ? SIZE_MAX : value;
		} else if (isdigit(*format)) {
			if (precise)
				*most = *most * 10 + *format - '0';
		} else if (!is_flag(*format)) {
			return format;
		}
	}
	return NULL;
}

/* Report the texts that a function prints. */
static void reads_arguments(const char *format, va_list list, void *place)
{
	struct arguments arguments;
	size_t most;

	va_copy(arguments.list, list);
	for (; (format = conversion(format, &arguments, &most)); format++) {
		const char *value;

		if (*format == '%')
			continue;
		value = va_arg(arguments.list, const char *);
		if (*format == 's' && (unsigned long)value >= PAGE_SIZE)
			reads_text(value, most, place);
		else if (*format == 'p' && isalnum(format[1]))
			pr_err("BUG: %%p%c prints memory, which check cannot follow; use %%s or numbers\n",
			       format[1]);
	}
	va_end(arguments.list);
}

int __real_vsnprintf(char *to, size_t size, const char *format, va_list list);
int __real_vscnprintf(char *to, size_t size, const char *format, va_list list);
int __weak __real_sysfs_emit(char *to, const char *format, ...);
int __weak __real_sysfs_emit_at(char *to, int at, const char *format, ...);

/* Report the accesses of a function that prints to memory. */
static void prints(char *to, size_t size, const char *format, va_list list,
		   void *place)
{
	va_list copy;
	size_t length;

	if (kit_is_entered())
		return;
	reads_arguments(format, list, place);
	va_copy(copy, list);
	length = __real_vsnprintf(NULL, 0, format, copy);
	va_end(copy);
	race_range(to, min(length + 1, size), true, place);
}

/* A function that prints @format; @real prints with @list in its place. */
#define PRINTS(name, to, size, real, ...)                        \
	int __wrap_##name(__VA_ARGS__, const char *format, ...); \
	int __wrap_##name(__VA_ARGS__, const char *format, ...)  \
	{                                                        \
		va_list list;                                    \
		int ret;                                         \
                                                                 \
		va_start(list, format);                          \
		prints(to, size, format, list, PLACE);           \
		ret = real;                                      \
		va_end(list);                                    \
		return ret;                                      \
	}
#define PRINTS_LIST(name, to, size, real, ...)                            \
	int __wrap_##name(__VA_ARGS__, const char *format, va_list list); \
	int __wrap_##name(__VA_ARGS__, const char *format, va_list list)  \
	{                                                                 \
		prints(to, size, format, list, PLACE);                    \
		return real;                                              \
	}
#define BOTH (&(struct va_format){ format, &list })

PRINTS(sprintf, to, INT_MAX, __real_vsnprintf(to, INT_MAX, format, list),
       char *to)
PRINTS(snprintf, to, size, __real_vsnprintf(to, size, format, list), char *to,
       size_t size)
PRINTS(scnprintf, to, size, __real_vscnprintf(to, size, format, list), char *to,
       size_t size)
PRINTS(sysfs_emit, to, PAGE_SIZE, __real_sysfs_emit(to, "%pV", BOTH), char *to)
PRINTS(sysfs_emit_at, to + at, PAGE_SIZE,
       __real_sysfs_emit_at(to, at, "%pV", BOTH), char *to, int at)
PRINTS_LIST(vsprintf, to, INT_MAX, __real_vsnprintf(to, INT_MAX, format, list),
	    char *to)
PRINTS_LIST(vsnprintf, to, size, __real_vsnprintf(to, size, format, list),
	    char *to, size_t size)
PRINTS_LIST(vscnprintf, to, size, __real_vscnprintf(to, size, format, list),
	    char *to, size_t size)

/* All arguments behind the format are addresses that sscanf() writes to. */
#define SCANS(name)                                                   \
	int __wrap_##name(const char *text, const char *format, ...); \
	int __wrap_##name(const char *text, const char *format, ...)  \
	{                                                             \
		va_list list, copy;                                   \
		int ret;                                              \
                                                                      \
		va_start(list, format);                               \
		va_copy(copy, list);                                  \
		TEXT(text);                                           \
		for (const char *at = format; *at; at++) {            \
			if (*at != '%')                               \
				continue;                             \
			if (*++at != '%' && *at != '*')               \
				WRITES(va_arg(copy, void *), 1);      \
		}                                                     \
		va_end(copy);                                         \
		ret = vsscanf(text, format, list);                    \
		va_end(list);                                         \
		return ret;                                           \
	}

SCANS(sscanf)
