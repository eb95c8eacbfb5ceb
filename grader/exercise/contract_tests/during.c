// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Record which fault is injected into a call, and print it if the kernel
 * panics, because the log of the panic does not show it otherwise.
 */
#include <linux/kernel.h>
#include <linux/notifier.h>
#include <linux/panic_notifier.h>

#include "contract_tests.h"

static u64 during_n;
static const char *during_what; /* NULL if no fault is injected */
static u64 during_place;
static u64 during_count;

void during(u64 n, const char *what, u64 place, u64 count)
{
	during_n = n;
	during_place = place;
	during_count = count;
	WRITE_ONCE(during_what, what);
}

static int tell_at_panic(struct notifier_block *block, unsigned long event,
			 void *message)
{
	const char *what = READ_ONCE(during_what);

	if (what)
		pr_emerg("%s: F(%llu) %s %llu of %llu\n", KBUILD_MODNAME,
			 during_n, what, during_place, during_count);
	return NOTIFY_DONE;
}

/*
 * The highest priority, to run before the notifier by which user-mode Linux
 * exits.
 */
static struct notifier_block at_panic = {
	.notifier_call = tell_at_panic,
	.priority = INT_MAX,
};

int during_begin(void)
{
	return atomic_notifier_chain_register(&panic_notifier_list, &at_panic);
}

void during_end(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &at_panic);
}
