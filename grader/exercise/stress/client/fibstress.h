/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * fibstress: stress /dev/fibonacci and check all results. A static program of
 * the guest. Each verb prints one line of figures and exits with 0, or prints
 * "wrong: ..." and exits with 1. The exit status is 2 if it could not run.
 *
 *	fibstress calls SEED COUNT MAX_N CAP
 *		make at least COUNT random system calls; n is log-uniform up to
 *		CAP, and in one of 2,000 cases up to MAX_N
 *	fibstress fail WHAT NEXT SAMPLES SEED N...
 *		make allocations of a call for F(N) fail in turn: all if
 *		SAMPLES is 0, else about SAMPLES of them, selected by SEED.
 *		WHAT is read, write or measure. NEXT is the n of a read that
 *		follows each failure
 *	fibstress random-failures SEED COUNT PERCENT N
 *		make COUNT reads of F(N), in which each allocation fails with a
 *		probability of PERCENT %
 *	fibstress load-failures MODULE
 *		load MODULE repeatedly, with each allocation failing in turn
 *	fibstress reload MODULE COUNT
 *		load and unload COUNT times
 *	fibstress kill SEED COUNT N
 *		kill COUNT processes in the middle of a read of F(N). Print
 *		the following times in ns: the time of a read, the longest
 *		time from a kill to the end of a process, and the time from
 *		a kill to the end of a sleeping process
 *	fibstress concurrent SEED SECONDS THREADS N MAX_N MODULE
 *		run THREADS threads with files of their own, threads that share
 *		a file, and a thread that unloads and loads MODULE
 */
#ifndef FIBSTRESS_H
#define FIBSTRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fibdrv.h"

/* Print a failed check. End the program after several failed checks. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return the exit status: 1 if a check has failed, else 0. */
int complained(void);

/* Print why the test cannot run, and end the program with status 2. */
void give_up(const char *what) __attribute__((noreturn));

/* Return CLOCK_MONOTONIC in nanoseconds. */
uint64_t now(void);

/*
 * Return random numbers that depend only on @state, so that a run can be
 * repeated.
 */
uint64_t random_next(uint64_t *state);
uint64_t random_below(uint64_t *state, uint64_t bound);
/*
 * Return a log-uniform number from 0 to @top: 10 to 100 is as likely as 100 to
 * 1,000.
 */
uint64_t random_log(uint64_t *state, uint64_t top);

/* Return the number of decimal digits of F(n), for n up to 10^7. */
size_t fib_digits(uint64_t n);

/*
 * Return whether @digits holds the @count digits of F(n). The function checks
 * the number of digits, that all characters are digits, and the value modulo
 * the prime 2^61 - 1. A wrong number of the right length passes with a
 * probability of 2^-61.
 */
bool fib_right(uint64_t n, const char *digits, ssize_t count);

/* Read F(n) and check it. Return whether it is right. */
bool read_right(int fd, uint64_t n, const char *when);

int open_device(int flags);
/* Open the device to read and write. Give up if that fails. */
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
