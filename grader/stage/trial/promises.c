// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * What stage.h asks of a stage, put to the test for one n at a time: the verb
 * "try N".
 */
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "trial.h"

#define PAINT 0x5ac3f00d5ac3f00dUL
/* Fresh memory holds the one or the other: results must not depend on it. */
#define FILL 0x5a
#define OTHER_FILL 0xe7
/* Of the allocations and look-ups of a call, so many fail in their turn. */
#define SAMPLES 24
/* Other calls begin and end at so many places within a call. */
#define NESTED 64
#define NESTED_N 60
#define DIRECTION_FLAG (1UL << 10)
#define ALIGNMENT_FLAG (1UL << 18)

/* A buffer for digits with a zone on both sides, and what is there before. */
struct room {
	char *memory;
	size_t bytes;
};

static int room_create(struct room *room, size_t bytes)
{
	room->bytes = bytes + 2 * ZONE;
	room->memory = kvmalloc(room->bytes, GFP_KERNEL);
	return room->memory ? 0 : -ENOMEM;
}

/* fib_decimal into the first @size bytes of a room; the rest stays as it is. */
static ssize_t decimal_into(struct trial_call *t, const union fib_value *f,
			    const struct room *room, size_t size)
{
	char *digits = room->memory + ZONE, *end = digits + size;
	ssize_t count;

	memset(room->memory, ZONE_BYTE, room->bytes);
	count = fib_decimal(&t->call, f, digits, size);
	if (memchr_inv(room->memory, ZONE_BYTE, ZONE))
		complain("decimal writes before its digits");
	if (memchr_inv(end, ZONE_BYTE, room->memory + room->bytes - end))
		complain("decimal writes past its %zu bytes", size);
	return count;
}

/* How the processor stands: what a call must leave as it was. */
struct standing {
	unsigned long flags;
	int preempt;
	bool off;
};

static struct standing standing(void)
{
	struct standing s = {
		.preempt = preempt_count(),
		.off = irqs_disabled(),
	};

#ifdef __x86_64__
	asm volatile("pushfq\n\tpopq %0" : "=r"(s.flags));
	s.flags &= DIRECTION_FLAG | ALIGNMENT_FLAG;
#endif
	return s;
}

static void check_standing(struct standing before, const char *when)
{
	struct standing now = standing();

	if (now.off && !before.off) {
		local_irq_enable();
		complain("%s, interrupts are switched off", when);
	}
	if (now.preempt != before.preempt) {
		complain("%s, preemption is counted %d times, before %d", when,
			 now.preempt, before.preempt);
		preempt_count_set(before.preempt);
	}
	if (now.flags != before.flags) {
#ifdef __x86_64__
		asm volatile("cld");
#endif
		complain("%s, flags of the processor are %#lx, before %#lx",
			 when, now.flags, before.flags);
	}
}

/* What came of a call, and with what it was made. */
struct outcome {
	ssize_t result;
	u64 hash;
	size_t limbs;
	u64 held; /* bytes that the number is kept in */
	u64 peak;
	u64 asked;
	u64 looks;
	u64 word; /* what the value is, or where */
	u64 computing; /* products announced by compute, and by decimal */
	u64 converting;
};

/* Compute, convert, release: once, with whatever @t asks for. */
static struct outcome one_call(struct trial_call *t, u64 n,
			       const struct room *room, const char *when)
{
	struct {
		u8 front[ZONE];
		union fib_value f;
		u8 rear[ZONE];
	} value;
	struct standing before = standing();
	struct outcome o = {};
	int err;

	memset(&value, ZONE_BYTE, sizeof(value));
	memset(&value.f, t->fill, sizeof(value.f));
	trial_begin(t);
	err = fib_compute(&t->call, n, &value.f);
	check_standing(before, "after compute");
	o.result = err;
	if (!err) {
		trial_compare(t, "after compute");
		o.held = t->bytes;
		o.computing = t->announced;
		o.limbs = fib_limbs(&value.f);
		o.word = value.f.word;
		trial_freeze(t);
		o.result = decimal_into(t, &value.f, room, digits_bound(n));
		t->checks = max(t->checks, 1u);
		trial_check_frozen(t);
		t->checks = 0;
		check_standing(before, "after decimal");
		if (t->bytes != o.held)
			complain("%s, decimal leaves %llu bytes", when,
				 t->bytes - o.held);
		if (fib_limbs(&value.f) != o.limbs)
			complain("decimal changes the number it is given");
		if (o.result > 0 && o.result <= digits_bound(n))
			o.hash = fnv1a(room->memory + ZONE, o.result);
		fib_release(&value.f);
		check_standing(before, "after release");
	}
	if (memchr_inv(value.front, ZONE_BYTE, ZONE) ||
	    memchr_inv(value.rear, ZONE_BYTE, ZONE))
		complain("%s, memory beside the value is written to", when);
	if (o.result > 0 && t->call.error)
		complain("%s, error is %d, and yet there are digits", when,
			 t->call.error);
	trial_end(t, when);
	o.peak = t->peak_bytes;
	o.asked = t->asked;
	o.looks = t->looks;
	o.converting = t->announced - o.computing;
	return o;
}

static void check_same(struct outcome got, struct outcome want,
		       const char *when)
{
	if (got.result < 0)
		complain("%s, the stage returns %zd", when, got.result);
	else if (got.result != want.result || got.hash != want.hash ||
		 got.limbs != want.limbs)
		complain("%s, the result is another", when);
}

/* A short call that begins and ends within another. */
static struct room nested_room;
static struct outcome nested_want;
static unsigned int nested_left;

static void nest(struct trial_call *t)
{
	struct trial_call inner = { .fill = OTHER_FILL };

	if (!nested_left)
		return;
	nested_left--;
	check_same(one_call(&inner, NESTED_N, &nested_room,
			    "in a call within another"),
		   nested_want, "in a call within another");
}

static void try_nested(u64 n, const struct room *room, struct outcome want)
{
	struct trial_call alone = { .fill = FILL };
	struct trial_call outer = {
		.fill = OTHER_FILL,
		.impatient = true,
		.between = nest,
	};

	if (room_create(&nested_room, digits_bound(NESTED_N)))
		return;
	nested_want = one_call(&alone, NESTED_N, &nested_room, "alone");
	nested_left = NESTED;
	check_same(one_call(&outer, n, room, "with calls within it"), want,
		   "with other memory, and calls within it");
	kvfree(nested_room.memory);
}

/* @make_fail is a place in t; each of some places fails in its turn. */
static void try_failures(struct trial_call *t, u64 *place, u64 count, int error,
			 u64 n, const struct room *room, const char *what)
{
	u64 runs = min_t(u64, count, SAMPLES);
	char when[64];

	for (u64 i = 1; i <= runs && !trial_wrong(); i++) {
		struct outcome o;

		*place = div64_u64(i * count, runs);
		snprintf(when, sizeof(when), "%s %llu of %llu", what, *place,
			 count);
		o = one_call(t, n, room, when);
		if (o.result != error || t->call.error != error)
			complain(
				"%s, the stage returns %zd and notes %d: %d is right",
				when, o.result, t->call.error, error);
	}
	*place = 0;
}

/* More room than the digits need, just as much, and too little. */
static void try_rooms(u64 n, const struct room *room, struct outcome want)
{
	struct trial_call t = { .fill = FILL };
	size_t count = want.result;
	const size_t enough[] = { count, count + 1, 2 * count + 16 };
	const size_t less[] = { count - 1, count / 2, 0 };
	union fib_value f;
	ssize_t ret;

	memset(&f, FILL, sizeof(f));
	trial_begin(&t);
	if (fib_compute(&t.call, n, &f)) {
		complain("the second time, compute fails");
		goto end;
	}
	for (int i = 0; i < ARRAY_SIZE(enough); i++) {
		ret = decimal_into(&t, &f, room, enough[i]);
		if (ret < 0)
			complain(
				"decimal returns %zd for %zu digits in %zu bytes",
				ret, count, enough[i]);
		else if (ret != want.result ||
			 fnv1a(room->memory + ZONE, ret) != want.hash)
			complain("decimal gives other digits in %zu bytes",
				 enough[i]);
	}
	for (int i = 0; i < ARRAY_SIZE(less); i++) {
		if (less[i] >= count)
			continue;
		ret = decimal_into(&t, &f, room, less[i]);
		if (ret != -ERANGE)
			complain(
				"decimal returns %zd for %zu digits in %zu bytes",
				ret, count, less[i]);
	}
	fib_release(&f);
end:
	trial_end(&t, "after release");
}

static struct outcome stack_outcome;

static noinline void call_below(u64 n, const struct room *room)
{
	struct trial_call t = {
		.fill = FILL,
		.arena = true,
		.impatient = true,
	};

	preempt_disable();
	stack_outcome = one_call(&t, n, room, "on a painted stack");
	preempt_enable();
}

/*
 * How deep the stack goes in a call. The memory is the arena's and nobody is
 * let in: all that is on the stack is the stage's, and an interrupt's frame.
 */
static noinline size_t stack_used(u64 n, const struct room *room)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	unsigned long *low = end_of_stack(current) + 16;
	unsigned long *top = (unsigned long *)(here - 512);
	unsigned long *p;

	for (p = low; p < top; p++)
		WRITE_ONCE(*p, PAINT);
	call_below(n, room);
	for (p = low; p < top && READ_ONCE(*p) == PAINT; p++)
		;
	return here - (unsigned long)p;
}

void try(u64 n, char *answer, size_t answer_size)
{
	struct trial_call t = { .fill = FILL, .impatient = true };
	struct outcome want;
	struct room room;
	size_t stack = 0;

	if (room_create(&room, 2 * digits_bound(n) + 16)) {
		scnprintf(answer, answer_size, "no memory\n");
		return;
	}
	want = one_call(&t, n, &room, "at the end");
	if (want.result < 0)
		complain("the stage returns %zd where memory is ample",
			 want.result);
	if (!want.result || want.result > (ssize_t)digits_bound(n))
		complain("decimal returns %zd", want.result);
	if (!trial_wrong())
		try_rooms(n, &room, want);
	if (!trial_wrong())
		try_kept(n, want.result);
	if (!trial_wrong())
		try_nested(n, &room, want);
	if (!trial_wrong() && t.peak_bytes < arena_size() / 8) {
		stack = stack_used(n, &room);
		if (stack_outcome.result != -ENOMEM)
			check_same(stack_outcome, want, "on a painted stack");
	}
	try_failures(&t, &t.fail_at, want.asked, -ENOMEM, n, &room,
		     "with a failed allocation,");
	try_failures(&t, &t.kill_at, want.looks, -EINTR, n, &room,
		     "when killed at look-up");
	kvfree(room.memory);
	scnprintf(
		answer, answer_size,
		"digits=%zd hash=%llu limbs=%zu peak=%llu allocations=%llu computing=%llu converting=%llu stack=%zu word=%llu\n",
		want.result, want.hash, want.limbs, want.peak, want.asked,
		want.computing, want.converting, stack, want.word);
}
