// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Reports the driver's steps to the grader by a file of their own, because the
 * driver writes to the kernel log: the client hands over an open file by the
 * parameter "report", with a nonce in it. The steps go there, and behind the
 * last one, when the module is freed, their record (grader/base/test_record.h).
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "call_trace.h"
#include "test_record.h"

/* Steps between two looks of the grader; more than these are not kept. */
#define MOST_STEPS 65536

/* Places in the driver that steps are called from; of more than these none is told. */
#define MOST_CALLERS 64

struct step {
	char what;
	const char *name;
	unsigned long about;
	const char *caller;
};

/* A place, and its name: that of a module that is being freed has none any more. */
struct caller {
	unsigned long place;
	char name[64];
};

/**
 * struct report - the steps, and the file that they go to
 * @file: handed over by the grader's client; NULL for none
 * @pos: where the next line goes
 * @steps: those since the module was loaded
 * @noted: how many they are
 * @written: how many of them are in the file
 * @paused: no step is noted
 * @callers: where steps were called
 * @known: how many places these are
 * @lock: for @noted and @known, since a step may be made in any context
 * @record: of the steps in the file
 */
static struct report {
	struct file *file;
	loff_t pos;
	struct step *steps;
	unsigned int noted;
	unsigned int written;
	bool paused;
	struct caller callers[MOST_CALLERS];
	unsigned int known;
	spinlock_t lock;
	struct test_record record;
} report = { .lock = __SPIN_LOCK_UNLOCKED(report.lock) };

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
	spin_lock_irqsave(&report.lock, flags);
	if (report.noted < MOST_STEPS) {
		report.steps[report.noted] = (struct step){
			.what = what,
			.name = name,
			.about = about,
			.caller = name_of(caller),
		};
		smp_store_release(&report.noted, report.noted + 1);
	}
	spin_unlock_irqrestore(&report.lock, flags);
}

/* May sleep, so not where a step is made. */
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

/* Takes the nonce out of the file: its line is filled with zeros. */
static int report_begin(unsigned int fd)
{
	char nonce[17] = "";
	loff_t pos = 0;

	report.file = fget(fd);
	if (!report.file)
		return -EBADF;
	report.steps =
		kvmalloc_array(MOST_STEPS, sizeof(*report.steps), GFP_KERNEL);
	if (!report.steps)
		return -ENOMEM; /* the file is put when the module is freed */
	kernel_read(report.file, nonce, sizeof(nonce) - 1, &pos);
	test_record_begin(&report.record, nonce);
	memset(nonce, '0', sizeof(nonce) - 1);
	pos = 0;
	kernel_write(report.file, nonce, sizeof(nonce) - 1, &pos);
	report.pos = pos + 1;
	return 0;
}

/* When loaded: the number of a file. Later: 0 for a pause, 1 to go on. */
static int report_set(const char *value, const struct kernel_param *kp)
{
	unsigned int number;
	int err = kstrtouint(value, 0, &number);

	if (err)
		return err;
	if (!report.file)
		return report_begin(number);
	report.paused = !number;
	return 0;
}

/* To read it has all steps written so far. */
static int report_get(char *buffer, const struct kernel_param *kp)
{
	if (report.steps)
		write_steps();
	return sysfs_emit(buffer, "%u\n", report.written);
}

/* The module is freed: the driver can make no step any more. */
static void report_free(void *unused)
{
	char line[80];
	int size;

	if (report.steps) {
		report.paused = false;
		race_report();
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
