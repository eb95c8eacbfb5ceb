/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
#ifndef FIRST_REPORT_H
#define FIRST_REPORT_H

#include <linux/kconfig.h>
#include <linux/spinlock.h>

/*
 * Protects all tables that describe the driver. It is the only lock of these
 * files, so that locks.c can tell it from the driver's locks. The functions
 * take and release it. While it is held, strings.c reports no access.
 */
extern spinlock_t kit_lock;
unsigned long kit_enter(void) __acquires(kit_lock);
void kit_leave(unsigned long flags) __releases(kit_lock);
bool kit_is_entered(void);

/*
 * Record a step; may be called in any context. @what is "+", "-", "!" or "=",
 * and @name is the function. @about is its object or value. @caller is the
 * address of the call in the driver, or 0.
 */
void report_step(char what, const char *name, unsigned long about,
		 unsigned long caller);

/*
 * Record that a table is full, so that a fault could be missed. @table is
 * "full_" and what the table holds.
 */
void report_full(const char *table, unsigned long most);

/* Record how many accesses race.c has seen, and how many of them waited. */
void race_report(void);

/*
 * Report to race.c an access to a range of memory by a function that the
 * compiler does not instrument. @place is the address of this call in the
 * driver.
 */
void race_range(const void *address, size_t size, bool write, void *place);

/* Return whether the caller must wait, or must be interrupted, in this call. */
bool race_chosen(void);
/* Let the other caller run before an atomic access, in some calls. */
void race_wait_atomic(void);

/* Let the caller wait after the release of a mutex, in some calls. */
void race_wait(void);

/* Return the distance of an address from the symbol watches of race.c. */
long from_watches(unsigned long address);

/*
 * Print a data race: @place is the address of the access in the driver's code,
 * and @other that of an access by another caller.
 */
void print_race(const void *place, bool write, const void *other,
		unsigned long address);

/*
 * Report to locks.c that the current task has taken or released a lock.
 * @shared is true if others can hold it at the same time.
 */
void locks_taken(const void *lock, bool shared);
void locks_released(const void *lock);

/*
 * Report to locks.c that programs can open the device from now on, and that the
 * driver removes it, which waits for callers to end, so no lock may be held.
 */
void locks_begin(void);
void locks_end(void);

/* Report to locks.c that the driver copies a range of its caller's memory. */
void locks_copied(unsigned long from, size_t size);

/* Report to locks.c that a function of the driver begins or ends. */
void locks_enter(void);
void locks_leave(void);

/*
 * Check the locks of the current task at an access to memory; @marked is true
 * if it is atomic, or by READ_ONCE or WRITE_ONCE.
 */
void locks_access(unsigned long address, bool write, bool marked, void *place);

/*
 * Forget what is known of locks and variables in memory that is freed; the
 * caller holds kit_lock.
 */
void locks_forget(unsigned long begin, size_t size);

/*
 * The number of bytes behind each block that must not change. KASAN finds
 * accesses behind a block itself.
 */
#define BEHIND_BLOCK (IS_ENABLED(CONFIG_KASAN) ? 0 : 16)

/*
 * Fill a block of memory that was allocated for the driver, unless it must be
 * @zero, and the BEHIND_BLOCK bytes behind it.
 */
void block_taken(void *memory, size_t size, bool zero);

/* Return whether the bytes behind a block have changed that is freed now. */
bool block_freed(const void *memory);

/*
 * Find the notebook in the driver's blocks by the text that it contains. The
 * text may begin anywhere in a block, such as in a structure. Return whether
 * there is a notebook.
 */
bool find_notebook(const char *text, size_t size);

/*
 * Return whether an address is in the notebook, or in any block of the driver.
 * The caller holds kit_lock.
 */
bool is_notebook(unsigned long address);
bool is_in_block(unsigned long address);

#endif
