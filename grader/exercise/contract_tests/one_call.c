// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Make one call of a stage. Check its memory, its writes and the state of the
 * processor afterwards.
 */
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "one_call.h"

#define DIRECTION_FLAG (1UL << 10)
#define ALIGNMENT_FLAG (1UL << 18)

int room_create(struct room *room, size_t bytes)
{
	room->bytes = bytes + 2 * ZONE;
	room->memory = kvmalloc(room->bytes, GFP_KERNEL);
	return room->memory ? 0 : -ENOMEM;
}

ssize_t decimal_into(struct contract_call *t, const union fib_value *f,
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

/* The processor state that a call must not change. */
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

struct outcome one_call(struct contract_call *t, u64 n, const struct room *room,
			const char *when)
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
	contract_begin(t);
	err = fib_compute(&t->call, n, &value.f);
	check_standing(before, "after compute");
	o.result = err;
	if (!err) {
		contract_compare(t, "after compute");
		if (t->call.error)
			complain("%s, compute returns 0 and notes %d", when,
				 t->call.error);
		o.held = t->bytes;
		o.computing = t->announced;
		o.yields_computing = t->yields;
		o.limbs = fib_limbs(&value.f);
		o.word = value.f.word;
		contract_freeze(t);
		o.result = decimal_into(t, &value.f, room,
					t->room ?: test_digits_bound(n));
		t->checks = max(t->checks, 1u);
		contract_check_frozen(t);
		t->checks = 0;
		check_standing(before, "after decimal");
		if (t->bytes != o.held)
			complain(LEAK "%s, decimal leaves %llu bytes", when,
				 t->bytes - o.held);
		if (fib_limbs(&value.f) != o.limbs)
			complain("decimal changes the number it is given");
		if (o.result > 0 && o.result <= test_digits_bound(n))
			o.hash = test_digest(room->memory + ZONE, o.result);
		fib_release(&value.f);
		check_standing(before, "after release");
	}
	if (memchr_inv(value.front, ZONE_BYTE, ZONE) ||
	    memchr_inv(value.rear, ZONE_BYTE, ZONE))
		complain("%s, memory next to the value is written to", when);
	if (o.result > 0 && t->call.error)
		complain("%s, error is %pe, and yet there are digits", when,
			 ERR_PTR(t->call.error));
	contract_end(t, when);
	o.peak = t->peak_bytes;
	o.asked = t->asked;
	o.yields = t->yields;
	o.converting = t->announced - o.computing;
	return o;
}

void check_same(struct outcome got, struct outcome want, const char *when)
{
	if (got.result < 0)
		complain("%s, the stage returns %zd", when, got.result);
	else if (got.result != want.result || got.hash != want.hash ||
		 got.limbs != want.limbs)
		complain("%s, the result differs", when);
}

/*
 * Return the number of the allocation or yield that fails in run @index of
 * @runs; all numbers begin at 1. In the last run, the last allocation or yield
 * fails. The others are divided into equal ranges, one for each of the other
 * runs; in such a run, a random one of the range fails. If there is only one
 * run, a random one of all fails.
 */
static u64 place_to_fail(u64 index, u64 runs, u64 count, u64 n)
{
	const u64 of[] = { contract_seed, n, count, index };
	u64 chance = test_digest((const char *)of, sizeof(of)) >> 20;
	u64 begin, width;

	if (runs == 1)
		return 1 + chance - count * div64_u64(chance, count);
	if (index == runs)
		return count;
	begin = div64_u64((index - 1) * count, runs - 1);
	width = div64_u64(index * count, runs - 1) - begin;
	return begin + 1 + chance - width * div64_u64(chance, width);
}

void try_failures(struct contract_call *t, u64 *place, struct places from,
		  u64 samples, int error, u64 n, const struct room *room,
		  const char *what)
{
	u64 count = from.last - from.before;
	u64 runs = min(count, samples);
	char when[64];

	for (u64 i = 1; i <= runs && !contract_wrong(); i++) {
		struct outcome o;

		*place = from.before + place_to_fail(i, runs, count, n);
		t->killed_once = i % 2;
		snprintf(when, sizeof(when), "%s %llu of %llu", what, *place,
			 from.last);
		during(n, what, *place, from.last);
		o = one_call(t, n, room, when);
		during(n, NULL, 0, 0);
		if (o.result != error || t->call.error != error)
			complain(
				"%s, the stage returns %zd and sets error to %d, expected %d",
				when, o.result, t->call.error, error);
	}
	*place = 0;
}
