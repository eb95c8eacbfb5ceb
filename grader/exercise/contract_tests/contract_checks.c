// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test what stage.h requires of a stage, for one n at a time: the verbs "try
 * N", "top N" if a call takes long, and "once N" to measure only its stack.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "one_call.h"

/*
 * At least SAMPLES of the allocations and of the yields of a call fail, each in
 * a call of its own. More of them fail if all these calls together take at most
 * FAILURES_WORK products.
 */
#define SAMPLES 24
#define FAILURES_WORK 200000000
/* The estimated cost of an allocation or a yield, in products of two limbs. */
#define PLACE_WORK 200
/*
 * Inject fewer failures into long calls. On average, a killed call has done
 * half of its work.
 */
#define FAILURES_OF_LONG 12
#define KILLS_OF_LONG 4
#define KILLS_OF_LONGEST 2
#define LONGEST_PRODUCTS 50000000
/* Convert a number only twice if decimal announces this many products or more. */
#define MANY_CONVERTING 1000000
/* The maximum number of other calls that begin and end within a call. */
#define NESTED 64
#define NESTED_N 60

/* A short call that begins and ends within another. */
static struct room nested_room;
static struct outcome nested_want;
static unsigned int nested_left;

static void nest(struct contract_call *t)
{
	struct contract_call inner = { .fill = OTHER_FILL };

	if (!nested_left)
		return;
	nested_left--;
	check_same(one_call(&inner, NESTED_N, &nested_room,
			    "in a call within another"),
		   nested_want, "in a call within another");
}

static void try_nested(u64 n, const struct room *room, struct outcome want)
{
	struct contract_call alone = { .fill = FILL };
	struct contract_call outer = {
		.fill = OTHER_FILL,
		.yield_always = true,
		.between = nest,
	};

	if (room_create(&nested_room, test_digits_bound(NESTED_N)))
		return;
	nested_want = one_call(&alone, NESTED_N, &nested_room, "alone");
	nested_left = NESTED;
	check_same(one_call(&outer, n, room, "with calls within it"), want,
		   "with other memory, and calls within it");
	kvfree(nested_room.memory);
}

/*
 * Test fib_decimal with more space than the digits need, with just enough, and
 * with too little, also with a random number of bytes.
 */
static void try_rooms(u64 n, const struct room *room, struct outcome want)
{
	struct contract_call t = { .fill = FILL };
	size_t count = want.result;
	u64 state = contract_seed + n;
	const size_t enough[] = { count, count + 1, 2 * count + 16 };
	const size_t less[] = { count - 1, count / 2, 0,
				(size_t)test_random(&state) % count };
	const bool all = want.converting < MANY_CONVERTING;
	union fib_value f;
	ssize_t ret;

	memset(&f, FILL, sizeof(f));
	contract_begin(&t);
	if (fib_compute(&t.call, n, &f)) {
		complain("the second time, compute fails");
		goto end;
	}
	for (int i = 0; i < ARRAY_SIZE(enough); i++) {
		if (enough[i] > room->bytes - 2 * ZONE || (i && !all))
			continue;
		ret = decimal_into(&t, &f, room, enough[i]);
		if (ret < 0)
			complain(
				"decimal returns %zd for %zu digits in %zu bytes",
				ret, count, enough[i]);
		else if (ret != want.result ||
			 test_digest(room->memory + ZONE, ret) != want.hash)
			complain("decimal gives other digits in %zu bytes",
				 enough[i]);
	}
	for (int i = 0; i < ARRAY_SIZE(less); i++) {
		if (less[i] >= count || (i < ARRAY_SIZE(less) - 1 && !all))
			continue;
		ret = decimal_into(&t, &f, room, less[i]);
		if (ret != -ERANGE)
			complain(
				"decimal returns %zd for %zu digits in %zu bytes",
				ret, count, less[i]);
	}
	fib_release(&f);
end:
	contract_end(&t, "after release");
}

/*
 * Make the first call of a test, with no other call and with enough memory, to
 * get the expected results.
 */
static struct outcome first_call(struct contract_call *t, u64 n,
				 const struct room *room)
{
	struct outcome want = one_call(t, n, room, "at the end");

	if (want.result < 0)
		complain("the stage returns %zd where memory is ample",
			 want.result);
	if (!want.result || want.result > (ssize_t)test_digits_bound(n))
		complain("decimal returns %zd", want.result);
	if (!contract_wrong())
		want.residue = residue(room->memory + ZONE, want.result);
	return want;
}

static void tell(char *answer, size_t answer_size, struct outcome o,
		 size_t stack)
{
	scnprintf(
		answer, answer_size,
		"digits=%zd residue=%llu limbs=%zu peak=%llu allocations=%llu computing=%llu converting=%llu stack=%zu word=%llu\n",
		o.result, o.residue, o.limbs, o.peak, o.asked, o.computing,
		o.converting, stack, o.word);
}

/*
 * Run the tests of every verb. At least @failures allocations and @kills yields
 * fail.
 */
static void try_always(struct contract_call *t, u64 n, const struct room *room,
		       struct outcome want, u64 failures, u64 kills,
		       char *answer, size_t answer_size)
{
	u64 work = PLACE_WORK * (want.asked + want.yields) + want.computing +
		   want.converting;
	u64 affordable = div64_u64(FAILURES_WORK, work + 1);
	/*
	 * Skip this test if there is no memory for the arena. Then the stage
	 * most likely fails the test of its peak memory.
	 */
	bool in_arena = !contract_wrong() && !contract_reserve(t);
	size_t stack = 0;

	contract_map_once(t);
	try_failures(t, &t->fail_at, (struct places){ 0, want.asked },
		     max(failures, affordable), -ENOMEM, n, room, FAILED);
	/* Most yields are in compute, so those in decimal are tried apart. */
	try_failures(t, &t->kill_at,
		     (struct places){ 0, want.yields_computing },
		     max(kills, affordable), -EINTR, n, room, KILLED);
	try_failures(t, &t->kill_at,
		     (struct places){ want.yields_computing, want.yields },
		     DIV_ROUND_UP(max(kills, affordable), 4), -EINTR, n, room,
		     KILLED);
	if (in_arena && !contract_wrong())
		stack = stack_used(n, room, want);
	tell(answer, answer_size, want, stack);
}

void try(u64 n, char *answer, size_t answer_size)
{
	struct contract_call t = { .fill = FILL, .yield_always = true };
	struct outcome want;
	struct room room;

	if (room_create(&room, 2 * test_digits_bound(n) + 16)) {
		scnprintf(answer, answer_size, "no memory\n");
		return;
	}
	want = first_call(&t, n, &room);
	if (!contract_wrong())
		try_rooms(n, &room, want);
	if (!contract_wrong())
		try_retention(n);
	if (!contract_wrong())
		try_nested(n, &room, want);
	try_always(&t, n, &room, want, SAMPLES, SAMPLES, answer, answer_size);
	kvfree(room.memory);
}

void once(u64 n, char *answer, size_t answer_size)
{
	struct contract_call t = { .fill = FILL, .yield_always = true };
	struct outcome want;
	struct room room;
	size_t stack = 0;

	if (room_create(&room, test_digits_bound(n))) {
		scnprintf(answer, answer_size, "no memory\n");
		return;
	}
	want = first_call(&t, n, &room);
	if (!contract_wrong() && !contract_reserve(&t))
		stack = stack_used(n, &room, want);
	tell(answer, answer_size, want, stack);
	kvfree(room.memory);
}

void top(u64 n, char *answer, size_t answer_size)
{
	struct contract_call t = { .fill = FILL, .yield_always = true };
	struct outcome want;
	struct room room;
	u64 kills;

	if (room_create(&room, test_digits_bound(n))) {
		scnprintf(answer, answer_size, "no memory\n");
		return;
	}
	want = first_call(&t, n, &room);
	if (!contract_wrong())
		try_rooms(n, &room, want);
	kills = want.computing + want.converting < LONGEST_PRODUCTS ?
			KILLS_OF_LONG :
			KILLS_OF_LONGEST;
	try_always(&t, n, &room, want, FAILURES_OF_LONG, kills, answer,
		   answer_size);
	kvfree(room.memory);
}
