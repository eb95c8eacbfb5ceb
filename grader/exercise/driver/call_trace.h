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

/* Let the caller wait after the release of a mutex, in some calls. */
void race_wait(void);

/*
 * Print a data race: @place is the address of the access in the driver's code,
 * and @other that of an access by another caller.
 */
void print_race(const void *place, bool write, const void *other,
		unsigned long address);

/*
 * Report to locks.c that the current task has taken or released a lock.
 * @ordered is false if the lock was taken without waiting.
 */
void locks_taken(const void *lock, bool ordered);
void locks_released(const void *lock);

/* Check the locks of the current task at an access to memory. */
void locks_access(unsigned long address, bool write, void *place);

/* Report to locks.c that programs can no longer open the device. */
void locks_device_removed(void);

/* Return whether an address is in the notebook that interposer.c has found. */
bool is_notebook(unsigned long address);

#endif
