// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Whether a call is as long when it finds all as the same call has left it: the
 * verb "again N". What a stage may not keep, it could find again: in blocks that
 * it gave back, on the stack below it, in the value and in the room for digits.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include "trial.h"

/* The least of some runs counts; of long calls there are fewer. */
#define RUNS 16
#define LEAST_RUNS 3
#define NS 60000000
/* What is that much shorter so often is no accident. */
#define PART 2
#define TRIES 4

struct took {
	u64 compute;
	u64 decimal;
};

static union fib_value value;

/*
 * What is left of a call is wiped out where others find it, the stack below too;
 * or, for the processor's cache, as many bytes elsewhere.
 */
static noinline void wipe(bool wiped, char *digits, size_t size)
{
	static unsigned long elsewhere[THREAD_SIZE / sizeof(long)];
	unsigned long *low = end_of_stack(current) + 16;
	unsigned long *top =
		(unsigned long *)((unsigned long)__builtin_frame_address(0) -
				  256);
	unsigned long *to = wiped ? low : elsewhere;

	for (size_t i = 0; i < top - low; i++)
		WRITE_ONCE(to[i], 0);
	if (!wiped)
		return;
	memset(digits, 0, size);
	value = (union fib_value){};
}

static noinline int time_call(struct trial_call *t, u64 n, char *digits,
			      size_t size, struct took *took)
{
	u64 begin, own;
	int err;

	trial_begin(t);
	t->own_ticks = 0;
	mb();
	begin = ticks();
	err = fib_compute(&t->call, n, &value);
	took->compute = ticks() - begin - t->own_ticks;
	if (!err) {
		own = t->own_ticks;
		begin = ticks();
		if (fib_decimal(&t->call, &value, digits, size) <= 0)
			err = -EIO;
		took->decimal = ticks() - begin - (t->own_ticks - own);
		fib_release(&value);
	}
	trial_end(t, "at the end");
	return err;
}

/* The least that a call takes without and with what one before has left. */
static int time_calls(u64 n, char *digits, size_t size, struct took *fresh,
		      struct took *again)
{
	u64 begin = ktime_get_ns();

	*fresh = (struct took){ U64_MAX, U64_MAX };
	*again = *fresh;
	for (int i = 0; i < RUNS; i++) {
		if (i >= LEAST_RUNS && ktime_get_ns() - begin > NS)
			break;
		for (int found = 0; found < 2; found++) {
			struct trial_call t = {
				.arena = true,
				.leaves = true,
				.finds = found,
			};
			struct took *least = found ? again : fresh, took;
			int err;

			preempt_disable();
			wipe(!found, digits, size);
			err = time_call(&t, n, digits, size, &took);
			preempt_enable();
			if (err)
				return err;
			least->compute = min(least->compute, took.compute);
			least->decimal = min(least->decimal, took.decimal);
		}
		cond_resched();
	}
	return 0;
}

static bool shorter(u64 again, u64 fresh)
{
	return PART * again < fresh;
}

void again(u64 n, char *answer, size_t answer_size)
{
	struct took fresh = {}, again = {};
	size_t size = digits_bound(n);
	char *digits = kvmalloc(size, GFP_KERNEL);
	bool compute = true, decimal = true;
	struct trial_call alone = {};

	if (!digits) {
		scnprintf(answer, answer_size, "no memory\n");
		return;
	}
	if (time_call(&alone, n, digits, size, &fresh)) {
		complain("F(%llu) fails where memory is ample", n);
		goto out;
	}
	if (trial_reserve(&alone)) {
		complain("F(%llu) holds %llu bytes at the peak", n,
			 alone.peak_bytes);
		goto out;
	}
	for (int i = 0; i < TRIES && (compute || decimal); i++) {
		if (time_calls(n, digits, size, &fresh, &again)) {
			complain("F(%llu) fails where memory is ample", n);
			goto out;
		}
		compute = compute && shorter(again.compute, fresh.compute);
		decimal = decimal && shorter(again.decimal, fresh.decimal);
	}
	if (compute || decimal)
		complain(
			"%s is faster where it finds what a call before has left: %llu instead of %llu",
			compute ? "compute" : "decimal",
			compute ? again.compute : again.decimal,
			compute ? fresh.compute : fresh.decimal);
	scnprintf(answer, answer_size,
		  "compute=%llu again=%llu decimal=%llu again2=%llu\n",
		  fresh.compute, again.compute, fresh.decimal, again.decimal);
out:
	kvfree(digits);
}
