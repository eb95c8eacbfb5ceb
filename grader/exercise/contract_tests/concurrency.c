// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Run independent calls on two CPUs at the same time: the verb "concurrency N".
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "contract_tests.h"

/*
 * Each caller continues until all callers have made CALLS calls, even if other
 * tasks take a CPU away from one of them. All callers stop when one of them has
 * run for NS nanoseconds.
 */
#define CALLS 20000
#define NS 400000000

static atomic_t missing; /* callers with fewer than CALLS calls */

/* One of the concurrent callers, which runs on a CPU of its own. */
struct caller {
	struct completion done;
	u64 n;
	u64 hash;
	char *digits;
	bool right;
};

static u64 hash_of_call(u64 n, char *digits)
{
	struct contract_call t = { .fill = 0x5a };
	union fib_value f;
	ssize_t count;
	u64 hash = 0;

	contract_begin(&t);
	if (!fib_compute(&t.call, n, &f)) {
		count = fib_decimal(&t.call, &f, digits, test_digits_bound(n));
		fib_release(&f);
		if (count > 0)
			hash = test_digest(digits, count);
	}
	contract_end(&t, "among others");
	return hash;
}

static int caller_run(void *arg)
{
	struct caller *caller = arg;
	u64 begin = ktime_get_ns();

	for (int i = 0; atomic_read(&missing) > 0; i++) {
		u64 hash = hash_of_call(caller->n, caller->digits);

		caller->right = caller->right && hash == caller->hash;
		if (i == CALLS)
			atomic_dec(&missing);
		if (!caller->right || ktime_get_ns() - begin > NS)
			atomic_set(&missing, 0);
		cond_resched();
	}
	complete(&caller->done);
	return 0;
}

void concurrent_calls(u64 n, char *answer, size_t size)
{
	struct caller callers[2] = { { .n = n }, { .n = n - n / 8 } };
	struct task_struct *tasks[2];
	int count = 0, cpu;

	if (num_online_cpus() == 1) {
		scnprintf(answer, size, "callers=1\n");
		return;
	}
	/* Compute the expected hashes before the callers run concurrently. */
	for (int i = 0; i < ARRAY_SIZE(callers); i++) {
		callers[i].digits = kvmalloc(test_digits_bound(n), GFP_KERNEL);
		if (!callers[i].digits)
			complain("there is no memory");
		else
			callers[i].hash =
				hash_of_call(callers[i].n, callers[i].digits);
		callers[i].right = true;
	}
	for_each_online_cpu(cpu)
	{
		if (count == ARRAY_SIZE(callers) || contract_wrong())
			break;
		init_completion(&callers[count].done);
		tasks[count] = kthread_create(caller_run, &callers[count],
					      "fibcontract/%d", cpu);
		if (IS_ERR(tasks[count]))
			break;
		kthread_bind(tasks[count], cpu);
		count++;
	}
	atomic_set(&missing, count);
	for (int i = 0; i < count; i++)
		wake_up_process(tasks[i]);
	for (int i = 0; i < count; i++) {
		wait_for_completion(&callers[i].done);
		if (!callers[i].right)
			complain("F(%llu) differs during calls on other CPUs",
				 callers[i].n);
	}
	for (int i = 0; i < ARRAY_SIZE(callers); i++)
		kvfree(callers[i].digits);
	scnprintf(answer, size, "callers=%d\n", count);
}
