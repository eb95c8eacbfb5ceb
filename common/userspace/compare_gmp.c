// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Compare stages with GMP in one process and in rounds. In each round all
 * contenders compute the same F(n) in turn, so that a disturbance of the CPU
 * affects all of them.
 *
 *	compare_gmp rounds N MAX_N:STAGE.SO...
 *	compare_gmp memory N MAX_N:STAGE.SO...
 *	compare_gmp version
 *
 * rounds checks that all digits agree and prints an empty line. Then it reads
 * numbers of turns, and makes one round for each, so that other processes can
 * work between two rounds. For each contender with N <= MAX_N it prints
 *	n  round  contender (0 is GMP, 1 the first stage)  compute ns  decimal ns
 * and an empty line after the round. A time is the mean of a batch of calls
 * that takes BATCH_NS.
 *
 * memory prints the peak heap use of a call, without the text of the digits:
 *	n  digits  contender  bytes
 */
#include <dlfcn.h>
#include <gmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "userspace/host.h"

#define BATCH_NS 200000
#define CONTENDERS 16

struct contender {
	u64 max_n;
	int (*compute)(struct fib_call *call, u64 n, union fib_value *f);
	ssize_t (*decimal)(struct fib_call *call, const union fib_value *f,
			   char *digits, size_t size);
	void (*release)(union fib_value *f);
	u64 compute_calls; /* calls in a batch */
	u64 decimal_calls;
	double compute_ns; /* time of a call in this round */
	double decimal_ns;
};

static void __attribute__((noreturn)) quit(const char *what, const char *whom)
{
	fflush(stdout);
	fprintf(stderr, "compare_gmp: %s: %s\n", whom, what);
	exit(1);
}

/*
 * GMP with the interface of a stage. As in a stage, the number is on the heap,
 * so that the costs are comparable.
 */
static int gmp_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	mpz_ptr z = malloc(sizeof(*z));

	if (!z)
		return -ENOMEM;
	mpz_init(z);
	mpz_fib_ui(z, n);
	f->big = (struct bignum *)z;
	return 0;
}

static ssize_t gmp_decimal(struct fib_call *call, const union fib_value *f,
			   char *digits, size_t size)
{
	mpz_get_str(digits, 10, (mpz_srcptr)f->big);
	return strlen(digits);
}

static void gmp_release(union fib_value *f)
{
	mpz_clear((mpz_ptr)f->big);
	free(f->big);
}

static struct {
	size_t now;
	size_t peak;
} gmp_bytes;

static void gmp_count(size_t taken, size_t given)
{
	gmp_bytes.now += taken - given;
	if (gmp_bytes.peak < gmp_bytes.now)
		gmp_bytes.peak = gmp_bytes.now;
}

static void *counted_realloc(void *block, size_t old, size_t size)
{
	block = realloc(block, size);
	if (!block)
		quit("no memory", "GMP");
	gmp_count(size, old);
	return block;
}

static void *counted_alloc(size_t size)
{
	return counted_realloc(NULL, 0, size);
}

static void counted_free(void *block, size_t size)
{
	free(block);
	gmp_count(0, size);
}

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		quit(dlerror(), name);
	return found;
}

static void load(struct contender *c, const char *argument)
{
	const char *path = strchr(argument, ':');
	void *library;

	if (!path)
		quit("not MAX_N:STAGE.SO", argument);
	c->max_n = strtoull(argument, NULL, 10);
	library = dlopen(path + 1, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		quit(dlerror(), path + 1);
	c->compute = symbol(library, "fib_compute");
	c->decimal = symbol(library, "fib_decimal");
	c->release = symbol(library, "fib_release");
}

/* CPU time does not include the time in which other processes use the CPU. */
static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Return the nanoseconds that this number of calls of compute takes. */
static u64 time_compute(const struct contender *c, u64 n, u64 calls)
{
	struct fib_call call = {};
	u64 begin = now();

	while (calls--) {
		union fib_value f;

		if (c->compute(&call, n, &f))
			quit("fails", "compute");
		c->release(&f);
	}
	return now() - begin;
}

/* Return the nanoseconds that this number of calls of decimal takes. */
static u64 time_decimal(const struct contender *c, u64 n, u64 calls,
			char *digits, size_t size)
{
	struct fib_call call = {};
	union fib_value f;
	u64 begin, end;

	if (c->compute(&call, n, &f))
		quit("fails", "compute");
	begin = now();
	while (calls--)
		if (c->decimal(&call, &f, digits, size) <= 0)
			quit("fails", "decimal");
	end = now();
	c->release(&f);
	return end - begin;
}

static void prepare(struct contender *c, u64 n, char *digits, size_t size,
		    const char *expected)
{
	struct fib_call call = {};
	union fib_value f;
	ssize_t count;

	if (c->compute(&call, n, &f))
		quit("fails", "compute");
	count = c->decimal(&call, &f, digits, size);
	c->release(&f);
	if (expected &&
	    (count != strlen(expected) || memcmp(digits, expected, count)))
		quit("a stage's digits are not GMP's", "decimal");
	/*
	 * Double the number of calls until they take long enough for the clock.
	 */
	c->compute_calls = c->decimal_calls = 1;
	while (time_compute(c, n, c->compute_calls) < BATCH_NS)
		c->compute_calls *= 2;
	while (time_decimal(c, n, c->decimal_calls, digits, size) < BATCH_NS)
		c->decimal_calls *= 2;
}

static void end_of_answer(void)
{
	printf("\n");
	fflush(stdout);
}

/*
 * Make one round of @turns turns; each turn begins with another contender. The
 * shortest time of a contender counts, because it is the least disturbed one.
 */
static void make_round(struct contender *contenders, int count, int round,
		       int turns, u64 n, char *digits, size_t size)
{
	for (int i = 0; i < count; i++)
		contenders[i].compute_ns = contenders[i].decimal_ns = 1e18;
	for (int k = 0; k < count * turns; k++) {
		struct contender *c = &contenders[(round + k) % count];
		double compute, decimal;

		if (n > c->max_n)
			continue;
		/*
		 * Convert first: this computes the number once before the clock
		 * runs. If a batch is a single call, the state of the caches
		 * would otherwise depend on the contender before.
		 */
		decimal = time_decimal(c, n, c->decimal_calls, digits, size);
		compute = time_compute(c, n, c->compute_calls);
		c->decimal_ns = min(c->decimal_ns, decimal / c->decimal_calls);
		c->compute_ns = min(c->compute_ns, compute / c->compute_calls);
	}
	for (int i = 0; i < count; i++)
		if (n <= contenders[i].max_n)
			printf("%llu\t%d\t%d\t%.2f\t%.2f\n", n, round, i,
			       contenders[i].compute_ns,
			       contenders[i].decimal_ns);
	end_of_answer();
}

static void print_memory(const struct contender *contenders, int count, u64 n,
			 char *digits, size_t size)
{
	for (int i = 0; i < count; i++) {
		const struct contender *c = &contenders[i];
		struct fib_call call = {};
		union fib_value f;
		ssize_t length;

		if (n > c->max_n)
			continue;
		if (c->compute(&call, n, &f))
			quit("fails", "compute");
		length = c->decimal(&call, &f, digits, size);
		if (length <= 0)
			quit("fails", "decimal");
		c->release(&f);
		printf("%llu\t%zd\t%d\t%llu\n", n, length, i,
		       i ? call.peak_bytes : (u64)gmp_bytes.peak);
	}
}

int main(int argc, char **argv)
{
	struct contender contenders[CONTENDERS] = {
		{ -1, gmp_compute, gmp_decimal, gmp_release, 1, 1 },
	};
	bool memory = argc > 1 && !strcmp(argv[1], "memory");
	int count = argc - 2, turns;
	char *digits, *expected;
	size_t size;
	u64 n;

	if (argc == 2 && !strcmp(argv[1], "version")) {
		printf("%s\n", gmp_version);
		return 0;
	}
	if (argc < 4 || count > CONTENDERS ||
	    (!memory && strcmp(argv[1], "rounds"))) {
		fputs("usage: compare_gmp rounds|memory N MAX_N:STAGE.SO...\n",
		      stderr);
		return 2;
	}
	n = strtoull(argv[2], NULL, 10);
	for (int i = 1; i < count; i++)
		load(&contenders[i], argv[i + 2]);

	size = n / 4 + 32; /* F(n) has fewer than n / 4 + 1 digits */
	digits = malloc(size);
	expected = malloc(size);
	if (!digits || !expected)
		quit("no memory", "digits");
	if (memory) {
		mp_set_memory_functions(counted_alloc, counted_realloc,
					counted_free);
		print_memory(contenders, count, n, digits, size);
		return 0;
	}
	prepare(&contenders[0], n, expected, size, NULL);
	for (int i = 1; i < count; i++)
		if (n <= contenders[i].max_n)
			prepare(&contenders[i], n, digits, size, expected);
	end_of_answer();

	for (int round = 0; scanf("%d", &turns) == 1; round++)
		make_round(contenders, count, round, turns, n, digits, size);
	return 0;
}
