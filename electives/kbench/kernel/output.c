// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Collect output in a buffer, which is read after the program has ended. Output
 * to stderr is dropped, because it is not compared either.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "kbench.h"
#include "shims.h"

/* stdout and stderr are objects whose addresses identify them. */
static char files[3];
struct kb_file *kb_stdin = (struct kb_file *)&files[0];
struct kb_file *kb_stdout = (struct kb_file *)&files[1];
struct kb_file *kb_stderr = (struct kb_file *)&files[2];

/* The program's function that called the shim, for the error message. */
#define CALLER __builtin_return_address(0)

static void __noreturn too_much(void *caller)
{
	kbench_give_up(1, "it prints more than %d bytes, in %ps", OUTPUT_BYTES,
		       caller);
}

static int put(struct kb_file *file, const char *text, size_t size,
	       void *caller)
{
	if (file != kb_stdout)
		return (int)size;
	if (size > OUTPUT_BYTES - kbench_output_size)
		too_much(caller);
	memcpy(kbench_output + kbench_output_size, text, size);
	kbench_output_size += size;
	return (int)size;
}

static int __printf(2, 0) format_to(struct kb_file *file, const char *format,
				    va_list args, void *caller)
{
	size_t room = OUTPUT_BYTES - kbench_output_size;
	int size;

	if (file != kb_stdout)
		return vsnprintf(NULL, 0, format, args);
	size = vsnprintf(kbench_output + kbench_output_size, room, format,
			 args);
	if ((size_t)size >= room)
		too_much(caller);
	kbench_output_size += (size_t)size;
	return size;
}

int kb_printf(const char *format, ...)
{
	va_list args;
	int size;

	va_start(args, format);
	size = format_to(kb_stdout, format, args, CALLER);
	va_end(args);
	return size;
}

int kb_fprintf(struct kb_file *file, const char *format, ...)
{
	va_list args;
	int size;

	va_start(args, format);
	size = format_to(file, format, args, CALLER);
	va_end(args);
	return size;
}

int kb_sprintf(char *to, const char *format, ...)
{
	va_list args;
	int size;

	va_start(args, format);
	size = vsprintf(to, format, args);
	va_end(args);
	return size;
}

int kb_snprintf(char *to, size_t size, const char *format, ...)
{
	va_list args;
	int full;

	va_start(args, format);
	full = vsnprintf(to, size, format, args);
	va_end(args);
	return full;
}

int kb_fputs(const char *text, struct kb_file *file)
{
	return put(file, text, strlen(text), CALLER);
}

int kb_puts(const char *text)
{
	put(kb_stdout, text, strlen(text), CALLER);
	return put(kb_stdout, "\n", 1, CALLER);
}

static int put_byte(struct kb_file *file, int byte, void *caller)
{
	char one = (char)byte;

	put(file, &one, 1, caller);
	return (unsigned char)byte;
}

int kb_fputc(int byte, struct kb_file *file)
{
	return put_byte(file, byte, CALLER);
}

int kb_putc(int byte, struct kb_file *file)
{
	return put_byte(file, byte, CALLER);
}

int kb_putchar(int byte)
{
	return put_byte(kb_stdout, byte, CALLER);
}

int kb_fflush(struct kb_file *file)
{
	return 0;
}

void kb_putf(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	format_to(kb_stdout, format, args, CALLER);
	va_end(args);
}
