// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Measure the interval between two yields: the verbs "yield-interval N" and,
 * for a single n, "yield-interval-at N". For a stage with vector files they
 * begin with "vector" instead of "yield". A call that computes for
 * long without a yield keeps other tasks from the processor, and delays a
 * Ctrl-C. So does a call that goes on after a yield has found its caller killed.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "contract_tests.h"
#include "vector.h"

#define RUNS 5
#define KILLED_RUNS 3
#define INTERVALS_LEFT 2
/* How many places of the longest call find their caller killed. */
#define KILLS_OF_LONGEST 6
#define MAX_GAPS 8192
/*
 * A call is long if a missing yield and a kill can be detected in it: the number
 * of yields decides, which other load does not change. The duration decides for
 * a stage that yields too seldom, or on a slow computer.
 */
#define LONG_YIELDS 48
#define LONG_NS 32000000
/*
 * A longer interval than this many products may be caused by other load. Then the
 * largest n is measured again, and the unit is multiplied by the computer's
 * slowdown.
 */
#define MANY_PRODUCTS 2000000
/* The same for a section with vector registers. */
#define LONG_SECTION 60000

/*
 * The shortest duration of each interval in all runs, which is valid because
 * all runs do the same steps.
 */
static u64 *gaps;
static u64 last;
static bool first_run;

/* The time from the yield that finds the caller killed to the end of the call. */
static u64 since_kill;

static void note(struct contract_call *t)
{
	u64 gap = ticks() - last;

	/*
	 * Leave out the time that the accounting of the contract tests takes.
	 */
	gap -= min(gap, t->own_ticks);
	t->own_ticks = 0;
	since_kill = t->yields > t->kill_at ? since_kill + gap : 0;
	if (!t->kill_at && t->yields <= MAX_GAPS) {
		u64 *kept = &gaps[t->yields - 1];

		if (first_run || gap < *kept)
			*kept = gap;
	}
	last = ticks();
}

/* Return the ticks that @count dependent multiplications take. */
static u64 ticks_of_products(int count)
{
	u64 begin = ticks(), x = 3;

	for (int i = 0; i < count; i++) {
		x = x * 0x9e3779b97f4a7c15ULL + i;
		asm volatile("" : "+r"(x));
	}
	return ticks() - begin;
}

/* Return the least ticks that 1000 dependent multiplications take. */
static u64 ticks_of_1000_products(void)
{
	u64 least = U64_MAX;

	for (int run = 0; run < 20; run++)
		least = min(least, ticks_of_products(20000));
	return max_t(u64, div_u64(least, 20), 1);
}

/*
 * Return how many times as long a product takes in a series of MANY_PRODUCTS
 * products as in the fastest short run, where 1000 products take @least ticks.
 * On a busy computer the emulator loses the processor several times in each
 * long series or interval, but never in the fastest short run.
 */
static u64 slowdown(u64 least)
{
	u64 sum = 0;

	for (int run = 0; run < RUNS; run++)
		sum += ticks_of_products(MANY_PRODUCTS);
	return max_t(u64, div64_u64(sum, RUNS * (MANY_PRODUCTS / 1000) * least),
		     1);
}

/*
 * Return the ticks that 1000 dependent fused multiply-adds of four doubles
 * take. A processor needs as long for them as for multiplications; an emulator
 * calls a function for each multiply-add and needs hundreds of times as long. x
 * = 0.5 x + 0.75 stays between 0.75 and 1.5. The compiler uses no vector
 * registers in this file.
 */
static u64 ticks_of_vector_products(void)
{
	static const double values[2] = { 0.5, 0.75 };
	u64 least = U64_MAX;

	for (int run = 0; run < 20; run++) {
		u64 begin;

		fib_fpu_begin();
		begin = ticks();
		asm volatile("vbroadcastsd %0, %%ymm1\n\t"
			     "vbroadcastsd %1, %%ymm2\n\t"
			     "vmovapd %%ymm2, %%ymm0"
			     :
			     : "m"(values[0]), "m"(values[1]));
		for (int i = 0; i < 1000; i++)
			asm volatile("vfmadd213pd %ymm2, %ymm1, %ymm0");
		asm volatile("vzeroupper");
		least = min(least, ticks() - begin);
		fib_fpu_end();
	}
	return max_t(u64, least, 1);
}

/* Compute and convert F(@n). Return the time in ns, or 0 after a failure. */
static u64 call_once(struct contract_call *t, u64 n, char *digits)
{
	u64 begin = ktime_get_ns();
	union fib_value f;
	ssize_t count = -EINTR;

	contract_begin(t);
	sections_begin(first_run);
	t->own_ticks = 0;
	last = ticks();
	if (!fib_compute(&t->call, n, &f)) {
		count = fib_decimal(&t->call, &f, digits, test_digits_bound(n));
		fib_release(&f);
	}
	t->yields++;
	if (t->at_yield)
		t->at_yield(t);
	contract_end(t, "at the end");
	return count > 0 ? max_t(u64, ktime_get_ns() - begin, 1) : 0;
}

/*
 * Double n from 1000 until a call is long. Return this n, or @max_n if no call
 * is long.
 */
static u64 some_long_n(struct contract_call *t, u64 max_n, char *digits)
{
	u64 n = min_t(u64, max_n, 1000);

	first_run = true;
	while (n < max_n && call_once(t, n, digits) < LONG_NS &&
	       t->yields < LONG_YIELDS && !contract_wrong())
		n = min(2 * n, max_n);
	return n;
}

/* The intervals between the yields of a call for one n, in ticks. */
struct paced {
	u64 whole;
	u64 longest;
	u64 stretches;
	u64 peak;
	int measured; /* how often the call was measured, at most RUNS times */
};

/*
 * Measure F(@n) @count times more and update *@p: each interval is the shortest
 * one of all runs.
 */
static void more_runs(struct contract_call *t, u64 n, char *digits, int count,
		      struct paced *p)
{
	u64 gap;

	for (int run = 0; run < count && !contract_wrong(); run++) {
		first_run = !p->measured++;
		if (!call_once(t, n, digits))
			complain("F(%llu) fails where memory is ample", n);
	}
	p->stretches = t->yields;
	p->peak = t->peak_bytes;
	p->longest = 0;
	p->whole = 0;
	for (u64 i = 0; i < min_t(u64, t->yields, MAX_GAPS); i++) {
		gap = gaps[i];
		p->longest = max(p->longest, gap);
		p->whole += gap;
	}
}

/*
 * Complain if F(@n) goes on after yield @place has found its caller killed: for
 * longer than INTERVALS_LEFT times the longest interval. Other load during a
 * single run can make an interval that long. So an interval that would excuse
 * much more than the usual ones is measured again.
 */
static void try_kill(struct contract_call *t, u64 n, char *digits, u64 place,
		     struct paced *p)
{
	u64 least = U64_MAX;
	u64 usual = div64_u64(p->whole, max_t(u64, p->stretches, 1));

	t->kill_at = place;
	for (int run = 0; run < KILLED_RUNS && !contract_wrong() &&
			  least > INTERVALS_LEFT * usual;
	     run++) {
		call_once(t, n, digits);
		least = min(least, since_kill);
	}
	t->kill_at = 0;
	if (contract_wrong() || least <= INTERVALS_LEFT * usual)
		return;
	if (p->measured < RUNS)
		more_runs(t, n, digits, RUNS - p->measured, p);
	if (!contract_wrong() && least > INTERVALS_LEFT * p->longest)
		complain(
			"the call goes on after yield %llu has found its caller killed",
			place);
}

/* The room for the calls of a test, and the time of 1000 products in ticks. */
struct interval_test {
	struct contract_call call;
	char *digits;
	u64 products;
	u64 unit;
};

/* Prepare calls up to F(@max_n). Return 0 or -ENOMEM; test_end() is needed. */
static int test_begin(struct interval_test *t, u64 max_n, bool vectors)
{
	*t = (struct interval_test){
		.call = { .fill = 0x5a, .at_yield = note },
		.digits = kvmalloc(test_digits_bound(max_n), GFP_KERNEL),
	};
	gaps = kvmalloc_array(MAX_GAPS, sizeof(*gaps), GFP_KERNEL);
	if (!t->digits || !gaps)
		return -ENOMEM;
	t->products = ticks_of_1000_products();
	t->unit = t->products;
	if (vectors && fib_has_avx2())
		t->unit = max(t->unit, ticks_of_vector_products());
	return 0;
}

static void test_end(struct interval_test *t)
{
	kvfree(gaps);
	kvfree(t->digits);
}

static bool is_long(const struct interval_test *t, u64 ticks)
{
	return ticks > MANY_PRODUCTS / 1000 * t->unit;
}

/* Measure F(@n) once, or RUNS times if an interval may be too long. */
static struct paced paced_at(struct interval_test *t, u64 n)
{
	struct paced p = {};

	t->call.arena = false;
	more_runs(&t->call, n, t->digits, 1, &p);
	if (is_long(t, p.longest) ||
	    sections_longest() > LONG_SECTION / 1000 * t->unit)
		more_runs(&t->call, n, t->digits, RUNS - 1, &p);
	return p;
}

void yield_interval(u64 max_n, bool vectors, char *answer, size_t size)
{
	struct paced some = {}, most;
	u64 n, longest_section, place, state = contract_seed;
	struct interval_test t;

	if (test_begin(&t, max_n, vectors)) {
		scnprintf(answer, size, "no memory\n");
		goto out;
	}
	n = some_long_n(&t.call, max_n, t.digits);
	contract_map_once(&t.call);
	more_runs(&t.call, n, t.digits, RUNS, &some);
	longest_section = sections_longest();
	/* The first yield is in compute, and the other one in decimal, if it yields. */
	if (some.stretches > 1)
		try_kill(&t.call, n, t.digits, 1, &some);
	if (some.stretches > 3)
		try_kill(&t.call, n, t.digits, some.stretches * 2 / 3, &some);
	most = some;
	if (n < max_n) {
		most = paced_at(&t, max_n);
		longest_section = max(longest_section, sections_longest());
		/* A long product has many yields, which a short call does not have. */
		for (u64 i = 0; i < KILLS_OF_LONGEST; i++) {
			place = 1 + (100 * i + test_random(&state) % 100) *
					    most.stretches /
					    (100 * KILLS_OF_LONGEST);
			try_kill(&t.call, max_n, t.digits, place, &most);
		}
	}
	if (is_long(&t, max(some.longest, most.longest)))
		t.unit *= slowdown(t.products);
	scnprintf(
		answer, size,
		"n=%llu longest=%llu peak=%llu ticks=%llu stretches=%llu unit=%llu top=%llu toplongest=%llu toppeak=%llu topticks=%llu topstretches=%llu section=%llu\n",
		n, some.longest, some.peak, some.whole, some.stretches, t.unit,
		max_n, most.longest, most.peak, most.whole, most.stretches,
		longest_section);
out:
	test_end(&t);
}

void yield_interval_at(u64 n, bool vectors, char *answer, size_t size)
{
	struct paced p;
	struct interval_test t;

	if (test_begin(&t, n, vectors)) {
		scnprintf(answer, size, "no memory\n");
		goto out;
	}
	p = paced_at(&t, n);
	if (is_long(&t, p.longest))
		t.unit *= slowdown(t.products);
	scnprintf(answer, size,
		  "n=%llu longest=%llu peak=%llu unit=%llu section=%llu\n", n,
		  p.longest, p.peak, t.unit, sections_longest());
out:
	test_end(&t);
}
