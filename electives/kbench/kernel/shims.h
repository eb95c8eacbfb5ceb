/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Functions that a program may call: kb_NAME replaces NAME. A program may also
 * call the kernel's functions for strings and memory directly.
 */
#ifndef KBENCH_SHIMS_H
#define KBENCH_SHIMS_H

#include <linux/types.h>

struct kb_file;
extern struct kb_file *kb_stdin, *kb_stdout, *kb_stderr;

int __printf(1, 2) kb_printf(const char *format, ...);
int __printf(2, 3) kb_fprintf(struct kb_file *file, const char *format, ...);
int __printf(2, 3) kb_sprintf(char *to, const char *format, ...);
int __printf(3, 4) kb_snprintf(char *to, size_t size, const char *format, ...);
int kb_puts(const char *text);
int kb_fputs(const char *text, struct kb_file *file);
int kb_putchar(int byte);
int kb_putc(int byte, struct kb_file *file);
int kb_fputc(int byte, struct kb_file *file);
int kb_fflush(struct kb_file *file);

int kb_scanf(const char *format, ...);
int kb_getchar(void);
int kb_getc(struct kb_file *file);
int kb_fgetc(struct kb_file *file);
char *kb_fgets(char *to, int size, struct kb_file *file);

void *kb_malloc(size_t size);
void *kb_calloc(size_t count, size_t size);
void *kb_realloc(void *old, size_t size);
void kb_free(void *memory);

void __noreturn kb_exit(int status);
void __noreturn kb_abort(void);
/* Replaces __assert_fail(), which assert() calls. */
void __noreturn kb_assert_fail(const char *claim, const char *file,
			       unsigned int line, const char *function);

int kb_abs(int x);
long kb_labs(long x);
int kb_atoi(const char *text);
int kb_rand(void);
void kb_srand(unsigned int seed);
char *kb_strncpy(char *to, const char *text, size_t size);
char *kb_strrchr(const char *text, int byte);
void kb_qsort(void *base, size_t count, size_t size,
	      int (*compare)(const void *a, const void *b));

/* The functions of the SysY library, only with SYSY=1. */
int kb_getint(void);
int kb_getch(void);
int kb_getarray(int *to);
void kb_putint(int x);
void kb_putch(int byte);
void kb_putarray(int count, const int *from);
void __printf(1, 2) kb_putf(const char *format, ...);
void kb_starttime(int line);
void kb_stoptime(int line);

#endif
