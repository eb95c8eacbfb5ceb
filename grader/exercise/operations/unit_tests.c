// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The operations of a stage one by one, as text: grader/exercise/operations/unit_tests.py links
 * this with a stage's objects, asks, and judges the answers. No header of the stage's
 * is seen here: it could change what this does.
 *
 * A request is a line, OPERATION A [B]; numbers are hexadecimal, from stage 8 on
 * decimal; n, bits and sizes are decimal. The answer is a line: the result, or a
 * word in capitals. The first line is a nonce, the last one that is printed the
 * record of the requests: see grader/base/test_record.h.
 *
 *	add A B, sub A B, mul A B, square A
 *	lshift A BITS, copy A			before stage 8
 *	increase A B, decrease A B, div5 A	from stage 9 on; B is a limb
 *	add-a, add-b, sub-a, sub-b, lshift-a, div5-a	into the operand itself
 *	add-s, sub-s, mul-s	one number as both operands: the second is not looked at
 *	add-t, sub-t		and the result into it
 *	decimal A SIZE		its digits, or ERANGE
 *	compute N		F(N), allocations, peak bytes
 *	fail-at N K		F(N) when allocation K fails: what is returned, noted and
 *	kill-at N K		left; the same, killed at yield K
 */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "unit_tests.h"
#include "../../base/test_record.h"

/* Prints a result's end: a line that says it when memory is left. */
static void finish(void)
{
	if (allocator.blocks)
		printf(" LEAK %llu", allocator.blocks);
	putchar('\n');
	fflush(stdout);
}

void do_decimal(struct fib_call *call, const union fib_value *f, size_t size)
{
	/* Exactly as large, so that a checker sees what is beyond. */
	char *digits = malloc(size);
	ssize_t count = fib_decimal(call, f, digits, size);

	if (count == -ERANGE)
		printf("ERANGE");
	else if (count <= 0 || (size_t)count > size)
		printf("ERROR %zd", count);
	else
		printf("%.*s", (int)count, digits);
	free(digits);
}

static void compute(struct fib_call *call, u64 n)
{
	union fib_value f;
	int err = fib_compute(call, n, &f);

	if (err) {
		printf("ERROR %d", err);
		return;
	}
	print_value(&f);
	/* Work that is left to whoever looks at the number counts, too. */
	printf(" %llu %llu", allocator.taken, allocator.peak_bytes);
	fib_release(&f);
}

/* F(@n) and its digits, with what allocator asks for. */
static void whole(struct fib_call *call, u64 n)
{
	char *digits = malloc(n / 4 + 64);
	union fib_value f;
	ssize_t result = fib_compute(call, n, &f);

	if (!result) {
		result = fib_decimal(call, &f, digits, n / 4 + 64);
		fib_release(&f);
	}
	printf("%zd %d %llu", result, call->error, allocator.bytes);
	free(digits);
}

static struct itimerval limit;

static void too_late(int unused)
{
	dprintf(STDERR_FILENO, "fib: no answer within %ld s\n",
		(long)limit.it_value.tv_sec);
	_exit(1);
}

/*
 * Ends this program if a request takes too much processor time for what it asks: a
 * loop without an end is told soon where numbers are small, and a slow method has
 * time enough for large ones.
 */
static void limit_time(const struct request *r)
{
	bool of_n = !strcmp(r->op, "compute") || allocator.tell;
	size_t size = of_n ? strtoull(r->a, NULL, 10) : strlen(r->a);

	limit.it_value.tv_sec = 2 + size / 1000;
	signal(SIGPROF, too_late);
	setitimer(ITIMER_PROF, &limit, NULL);
}

int main(void)
{
	static struct test_record record;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (getline(&line, &size, stdin) <= 0)
		return 2;
	test_record_begin(&record, line);
	memset(line, 0, size);
	while ((length = getline(&line, &size, stdin)) > 0) {
		struct request r = { .b = "" };
		struct fib_call call;
		char *word = strtok(line, " \n");

		if (!word)
			continue;
		snprintf(r.op, sizeof(r.op), "%s", word);
		r.a = strtok(NULL, " \n");
		word = strtok(NULL, " \n");
		if (word)
			r.b = word;
		if (!r.a)
			continue;
		word = NULL;
		allocator.fail_at =
			strcmp(r.op, "fail-at") ? 0 : strtoull(r.b, &word, 10);
		allocator.kill_at =
			strcmp(r.op, "kill-at") ? 0 : strtoull(r.b, &word, 10);
		allocator.tell = word;
		allocator.yield_always = allocator.kill_at;
		begin_call(&call);
		limit_time(&r);
		if (!strcmp(r.op, "compute"))
			compute(&call, strtoull(r.a, NULL, 10));
		else if (allocator.tell)
			whole(&call, strtoull(r.a, NULL, 10));
		else
			run(&call, &r);
		finish();
		test_record_check(&record, length);
	}
	free(line);
	printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&record));
	return 0;
}
