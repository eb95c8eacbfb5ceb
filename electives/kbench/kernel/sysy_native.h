/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/* Compile sysy.c for an ordinary process: map its functions to libc's. */
#ifndef KBENCH_SYSY_NATIVE_H
#define KBENCH_SYSY_NATIVE_H

#include <stdarg.h>
#include <stdio.h>

#define kb_printf printf
#define kb_scanf scanf
#define kb_getchar getchar
#define kb_putchar putchar
#define kb_getint getint
#define kb_getch getch
#define kb_getarray getarray
#define kb_putint putint
#define kb_putch putch
#define kb_putarray putarray
#define kb_starttime _sysy_starttime
#define kb_stoptime _sysy_stoptime

#endif
