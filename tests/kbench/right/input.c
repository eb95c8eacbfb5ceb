// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Read input from a buffer that is filled before the program begins. scanf is
 * implemented here, because the kernel's vsscanf does not return how many bytes
 * it has read.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "kbench.h"
#include "shims.h"

static size_t at;

int kb_getchar(void)
{
	if (at == kbench_input_size)
		return -1;
	return (unsigned char)kbench_input[at++];
}

int kb_getc(struct kb_file *file)
{
	return file == kb_stdin ? kb_getchar() : -1;
}

int kb_fgetc(struct kb_file *file)
{
	return kb_getc(file);
}

char *kb_fgets(char *to, int size, struct kb_file *file)
{
	int count = 0, byte;

	while (count + 1 < size && (byte = kb_getc(file)) >= 0) {
		to[count++] = (char)byte;
		if (byte == '\n')
			break;
	}
	if (!count)
		return NULL;
	to[count] = '\0';
	return to;
}

static int peek(void)
{
	return at < kbench_input_size ? (unsigned char)kbench_input[at] : -1;
}

static void skip_space(void)
{
	while (peek() >= 0 && isspace(peek()))
		at++;
}

static int digit(int byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte = tolower(byte);
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : 99;
}

/*
 * A right solution by another method: it takes the bytes first, and then their
 * values. A variable has the name of one of the kernel's macros.
 */
static bool number(int base, int width, unsigned long long *value)
{
	size_t alternative = 0, most, first;
	bool minus = false;

	most = min_t(size_t, (size_t)width, kbench_input_size - at);
	if (most && (peek() == '-' || peek() == '+')) {
		minus = peek() == '-';
		at++;
		most--;
	}
	first = at;
	*value = 0;
	if ((base == 0 || base == 16) && most > 1 && peek() == '0') {
		alternative = 1;
		if ((kbench_input[at + 1] | 0x20) == 'x') {
			alternative = 2;
			base = 16;
		} else if (!base) {
			base = 8;
		}
	}
	base = base ?: 10;
	at += alternative;
	while (at < first + most && digit(peek()) < base)
		*value = *value * (unsigned int)base +
			 (unsigned int)digit((unsigned char)kbench_input[at++]);
	if (minus)
		*value = 0 - *value;
	return at > first;
}

static void store(void *to, int length, unsigned long long value)
{
	switch (length) {
	case -2:
		*(unsigned char *)to = (unsigned char)value;
		break;
	case -1:
		*(unsigned short *)to = (unsigned short)value;
		break;
	case 0:
		*(unsigned int *)to = (unsigned int)value;
		break;
	default:
		*(unsigned long long *)to = value;
	}
}

/* Read a word for %s, or width bytes for %c. Return false at the end. */
static bool text(char *to, int width, bool word)
{
	int count = 0;

	while (count < width && peek() >= 0 && !(word && isspace(peek()))) {
		if (to)
			to[count] = (char)peek();
		count++;
		at++;
	}
	if (to && word && count)
		to[count] = '\0';
	return word ? count > 0 : count == width;
}

static int base_of(int kind)
{
	return kind == 'i' ? 0 : kind == 'o' ? 8 : kind == 'x' ? 16 : 10;
}

int kb_scanf(const char *format, ...)
{
	int found = 0;
	va_list args;

	va_start(args, format);
	for (const char *f = format; *f; f++) {
		int width = 0, length = 0;
		unsigned long long value;
		bool keep = true, any, ended;

		if (isspace(*f)) {
			skip_space();
			continue;
		}
		if (*f != '%' || f[1] == '%') {
			if (*f == '%') {
				f++;
				skip_space();
			}
			if (peek() != (unsigned char)*f)
				break;
			at++;
			continue;
		}
		if (f[1] == '*') {
			keep = false;
			f++;
		}
		while (isdigit(f[1]))
			width = width * 10 + (*++f - '0');
		for (; f[1] == 'h' || f[1] == 'l' || f[1] == 'z'; f++)
			length += f[1] == 'h' ? -1 : 1;
		f++;
		if (*f != 'c')
			skip_space();
		ended = peek() < 0;
		if (*f == 'c' || *f == 's') {
			any = text(keep ? va_arg(args, char *) : NULL,
				   width     ? width :
				   *f == 'c' ? 1 :
					       INT_MAX,
				   *f == 's');
		} else if (*f && strchr("diuox", *f)) {
			any = number(base_of(*f), width ? width : INT_MAX,
				     &value);
			if (any && keep)
				store(va_arg(args, void *), length, value);
		} else {
			kbench_give_up(1, "this scanf does not support %%%c",
				       *f);
		}
		if (!any) {
			if (!found && ended)
				found = -1;
			break;
		}
		found += keep;
	}
	va_end(args);
	return found;
}
