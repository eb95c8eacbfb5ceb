// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Report the driver's steps to the grader in a file of its own, because the
 * driver writes to the kernel log. The client passes an open file by the
 * parameter "report", with a nonce in it. The steps are written there. When the
 * module is freed, their record follows (grader/base/test_record.h).
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "call_trace.h"
#include "test_record.h"

/*
 * The maximum number of steps since the module was loaded, and of those that
 * are added when the module is freed.
 */
#define MOST_STEPS 65536
#define LAST_STEPS 4

/*
 * The maximum number of call addresses in the driver; further addresses get no
 * name.
 */
#define MOST_CALLERS 64

struct step {
	char what;
	const char *name;
	unsigned long about;
	const char *caller;
};

/*
 * A call address and its name. The name is saved, because the kernel finds no
 * name for the address while the module is freed.
 */
struct caller {
	unsigned long place;
	char name[64];
};

/**
 * struct report - the steps, and the file they are written to
 * @file: from the grader's client; NULL for none
 * @pos: the position of the next line
 * @steps: the steps since the module was loaded
 * @noted: number of steps
 * @written: number of steps that are in the file
 * @most: the maximum number of steps now
 * @full: the table that was full first; NULL for none
 * @full_at: its size
 * @paused: drop new steps
 * @callers: the addresses where steps were called
 * @known: number of these addresses
 * @record: the record of the steps in the file
 */
static struct report {
	struct file *file;
	loff_t pos;
	struct step *steps;
	unsigned int noted;
	unsigned int written;
	unsigned int most;
	const char *full;
	unsigned long full_at;
	bool paused;
	struct caller callers[MOST_CALLERS];
	unsigned int known;
	struct test_record record;
} report = { .most = MOST_STEPS };

DEFINE_SPINLOCK(kit_lock);
static struct task_struct *inside;

unsigned long kit_enter(void) __acquires(kit_lock)
{
	unsigned long flags;

	spin_lock_irqsave(&kit_lock, flags);
	WRITE_ONCE(inside, current);
	return flags;
}

void kit_leave(unsigned long flags) __releases(kit_lock)
{
	WRITE_ONCE(inside, NULL);
	spin_unlock_irqrestore(&kit_lock, flags);
}

bool kit_is_entered(void)
{
	return READ_ONCE(inside) == current;
}

void report_full(const char *table, unsigned long most)
{
	if (report.full)
		return;
	report.full_at = most;
	report.full = table;
}

static const char *name_of(unsigned long place)
{
	struct caller *caller = report.callers;

	if (!place)
		return "";
	for (; caller < report.callers + report.known; caller++)
		if (caller->place == place)
			return caller->name;
	if (report.known == MOST_CALLERS)
		return "";
	report.known++;
	caller->place = place;
	scnprintf(caller->name, sizeof(caller->name), " %pS", (void *)place);
	return caller->name;
}

void report_step(char what, const char *name, unsigned long about,
		 unsigned long caller)
{
	unsigned long flags;

	if (!report.steps || report.paused)
		return;
	flags = kit_enter();
	if (report.noted < report.most) {
		report.steps[report.noted] = (struct step){
			.what = what,
			.name = name,
			.about = about,
			.caller = name_of(caller),
		};
		smp_store_release(&report.noted, report.noted + 1);
	} else {
		report_full("full_steps", report.most);
	}
	kit_leave(flags);
}

/*
 * Write the recorded steps to the file. May sleep, so report_step() must not
 * call this.
 */
static void write_steps(void)
{
	unsigned int noted = smp_load_acquire(&report.noted);
	char line[160];

	for (; report.written < noted; report.written++) {
		struct step step = report.steps[report.written];
		int size = scnprintf(line, sizeof(line) - 1, "%c %s %lx%s",
				     step.what, step.name, step.about,
				     step.caller);

		test_record_check(&report.record, test_record_text(line));
		line[size] = '\n';
		kernel_write(report.file, line, size + 1, &report.pos);
	}
}

/* Read the nonce from the file's first line and overwrite it with zeros. */
static int report_begin(unsigned int fd)
{
	char nonce[17] = "";
	loff_t pos = 0;

	report.file = fget(fd);
	if (!report.file)
		return -EBADF;
	report.steps = kvmalloc_array(MOST_STEPS + LAST_STEPS,
				      sizeof(*report.steps), GFP_KERNEL);
	if (!report.steps)
		return -ENOMEM; /* the file is released with the module */
	kernel_read(report.file, nonce, sizeof(nonce) - 1, &pos);
	test_record_begin(&report.record, nonce);
	memset(nonce, '0', sizeof(nonce) - 1);
	pos = 0;
	kernel_write(report.file, nonce, sizeof(nonce) - 1, &pos);
	report.pos = pos + 1;
	return 0;
}

/*
 * At load, take the number of an open file. Later, 0 pauses the trace and 1
 * resumes it.
 */
static int report_set(const char *value, const struct kernel_param *kp)
{
	unsigned int number;
	int err = kstrtouint(value, 0, &number);

	if (err)
		return err;
	if (!report.file)
		return report_begin(number);
	report.paused = false;
	report_step('=', "paused", !number, 0);
	report.paused = !number;
	return 0;
}

/* Write all steps so far to the file when the parameter is read. */
static int report_get(char *buffer, const struct kernel_param *kp)
{
	if (report.steps)
		write_steps();
	return sysfs_emit(buffer, "%u\n", report.written);
}

/*
 * Write the record when the module is freed, because no more steps can follow
 * then.
 */
static void report_free(void *unused)
{
	char line[80];
	int size;

	if (report.steps) {
		report.paused = false;
		report.most += LAST_STEPS;
		race_report();
		if (report.full)
			report_step('=', report.full, report.full_at, 0);
		write_steps();
		size = scnprintf(line, sizeof(line), TEST_RECORD_FORMAT,
				 TEST_RECORD_ARGUMENTS(&report.record));
		kernel_write(report.file, line, size, &report.pos);
	}
	kvfree(report.steps);
	if (report.file)
		fput(report.file);
}

static const struct kernel_param_ops report_ops = {
	.set = report_set,
	.get = report_get,
	.free = report_free,
};
module_param_cb(report, &report_ops, NULL, 0600);
MODULE_PARM_DESC(report,
		 "for the grader: an open file that each step is written to");
