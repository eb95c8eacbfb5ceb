/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef FIRST_REPORT_H
#define FIRST_REPORT_H

/*
 * Notes a step in any context: "+", "-", "!" or "=", the function, what it is
 * about; and where in the driver it was called, or 0.
 */
void report_step(char what, const char *name, unsigned long about,
		 unsigned long caller);

/* Notes how many accesses came by race.c, and how many of them waited. */
void race_report(void);

#endif
