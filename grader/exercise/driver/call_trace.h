/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef FIRST_REPORT_H
#define FIRST_REPORT_H

/*
 * Record a step; may be called in any context. @what is "+", "-", "!" or "=",
 * and @name is the function. @about is its object or value. @caller is the
 * address of the call in the driver, or 0.
 */
void report_step(char what, const char *name, unsigned long about,
		 unsigned long caller);

/* Record how many accesses race.c has seen, and how many of them waited. */
void race_report(void);

/*
 * Report to race.c an access to a range of memory by a function that the
 * compiler does not instrument. @place is the address of this call in the
 * driver.
 */
void race_range(const void *address, size_t size, bool write, void *place);

/* Report to race.c that a mutex was released; the caller may then wait. */
void race_unlocked(void);

#endif
