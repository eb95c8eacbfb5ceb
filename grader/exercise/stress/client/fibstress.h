/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fibstress: treats /dev/fibonacci badly and checks all that it says. A static
 * program of the guest; each verb prints one line of figures and ends with 0,
 * or prints "wrong: ..." and ends with 1; 2 means that it could not be done.
 *
 *	fibstress calls SEED COUNT MAX_N CAP
 *		at least COUNT random system calls; n is log-uniform up to CAP,
 *		in one of 2,000 cases up to MAX_N
 *	fibstress fail WHAT NEXT SAMPLES SEED N...
 *		make each allocation of a call for F(N) fail in turn, or about
 *		SAMPLES of them, drawn by SEED, unless that is 0; WHAT is
 *		read, write or measure. NEXT is the n of the read in between
 *	fibstress random-failures SEED COUNT PERCENT N
 *		COUNT reads of F(N), each allocation failing by chance
 *	fibstress load-failures MODULE
 *		load MODULE with each allocation failing in turn
 *	fibstress reload MODULE COUNT
 *		load and unload COUNT times
 *	fibstress kill SEED COUNT N
 *		kill COUNT processes in the middle of a read of F(N); says
 *		in ns how long a read takes, and how long after the kill a
 *		process has ended at the latest, and one that only slept
 *	fibstress concurrent SEED SECONDS THREADS N MAX_N MODULE
 *		THREADS threads with files of their own, threads that share one,
 *		and a process that unloads and loads MODULE
 */
#ifndef FIBSTRESS_H
#define FIBSTRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fibdrv.h"

/* Says what is wrong; the program ends with status 1, after a few at once. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* 1 when there has been something wrong, 0 when not: the exit status. */
int complained(void);

/* Says why nothing can be tested, and ends the program with status 2. */
void give_up(const char *what) __attribute__((noreturn));

/* Nanoseconds by CLOCK_MONOTONIC. */
uint64_t now(void);

/* Random numbers, repeatable: the state is all there is. */
uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t bound);
/* 0 to @top, as many from 10 to 100 as from 100 to 1,000. */
uint64_t random_log(uint64_t *state, uint64_t top);

/* How many decimal digits F(n) has, for n to 10^7. */
size_t fib_digits(uint64_t n);

/*
 * Whether @count digits are those of F(n): their number, that nothing but
 * digits is there, and their value modulo the prime 2^61 - 1. A wrong number
 * of the right length passes with a chance of 2^-61.
 */
bool fib_right(uint64_t n, const char *digits, ssize_t count);

/* Complains unless a read of F(n) is right. Returns whether it is. */
bool read_right(int fd, uint64_t n, const char *when);

int open_device(int flags);
/* To read and write; gives up when that fails. */
int must_open_device(void);
int load_module(const char *path);
int unload_module(void);

void do_calls(char **args);
void do_fail(char **args);
void do_random_failures(char **args);
void do_load_failures(char **args);
void do_reload(char **args);
void do_kill(char **args);
void do_concurrent(char **args);

#endif
