// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Calls that share nothing, on two CPUs at the same time: the verb "together N".
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "trial.h"

/* Calls of each CPU go on for so long: some at least meet. */
#define NS 30000000

/* Calls of a CPU among those of others. */
struct caller {
	struct completion done;
	u64 n;
	u64 hash;
	bool right;
};

/* Calls for so many ns, at least one; @hash is that of the first, unless given. */
static bool calls_agree(u64 n, u64 *hash, u64 ns)
{
	char *digits = kvmalloc(digits_bound(n), GFP_KERNEL);
	bool right = digits;
	u64 begin = ktime_get_ns();

	while (right && (!*hash || ktime_get_ns() - begin < ns)) {
		struct trial_call t = { .fill = 0x5a };
		union fib_value f;
		ssize_t count;
		u64 got;

		trial_begin(&t);
		right = !fib_compute(&t.call, n, &f);
		if (right) {
			count = fib_decimal(&t.call, &f, digits,
					    digits_bound(n));
			fib_release(&f);
			right = count > 0;
			got = right ? fnv1a(digits, count) : 0;
			right = right && (!*hash || got == *hash);
			*hash = got;
		}
		trial_end(&t, "among others");
	}
	kvfree(digits);
	return right;
}

static int caller_run(void *arg)
{
	struct caller *caller = arg;

	caller->right = calls_agree(caller->n, &caller->hash, NS);
	complete(&caller->done);
	return 0;
}

void together(u64 n, char *answer, size_t size)
{
	struct caller callers[2] = { { .n = n }, { .n = n - n / 8 } };
	int begun = 0, cpu;

	for_each_online_cpu(cpu)
	{
		struct caller *caller = &callers[begun];
		struct task_struct *task;

		if (begun == ARRAY_SIZE(callers))
			break;
		/* What it is to be: nobody is there yet. */
		calls_agree(caller->n, &caller->hash, 0);
		init_completion(&caller->done);
		task = kthread_create(caller_run, caller, "fibtrial/%d", cpu);
		if (IS_ERR(task))
			break;
		kthread_bind(task, cpu);
		wake_up_process(task);
		begun++;
	}
	for (int i = 0; i < begun; i++) {
		wait_for_completion(&callers[i].done);
		if (!callers[i].right)
			complain("F(%llu) is another among calls on other CPUs",
				 callers[i].n);
	}
	scnprintf(answer, size, "callers=%d\n", begun);
}
