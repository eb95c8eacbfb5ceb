// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Run the operations of a stage one by one, with operands and results as text.
 * grader/exercise/operations/unit_tests.py links this file with the objects of
 * a stage, sends requests and judges the answers. This file includes no header
 * of the stage, because such a header could change what this file does.
 *
 * A request is one line: OPERATION A [B]. Numbers are hexadecimal before stage
 * 8 and decimal from stage 8 on; N, BITS and SIZE are always decimal. The
 * answer is one line: the result, or a word in capitals. The first line of the
 * input is a nonce, and the last line of the output is the record of the
 * requests: see grader/base/test_record.h.
 *
 *	add A B, sub A B, mul A B, square A
 *	lshift A BITS, copy A			before stage 8
 *	increase A B, decrease A B, div5 A	from stage 9 on; B is a limb
 *	add-a, add-b, sub-a, sub-b, lshift-a, div5-a
 *				the result overwrites operand a or b
 *	add-s, sub-s, mul-s	A as both operands; B is ignored
 *	add-t, sub-t		A as both operands and as the result
 *	mul-w, square-w, decimal-w A SIZE
 *				also WORK, the products passed to
 *				fib_account_work, and the digits of a limb
 *	create SIZE COUNT	ENOMEM, because there is no memory for COUNT
 *				numbers of SIZE limbs
 *	decimal A SIZE		the decimal digits of A, or ERANGE
 *	compute N		F(N), allocations, peak bytes
 *	fail-at N K		F(N) if allocation K fails: the return value,
 *				the error in struct fib_call, bytes not freed
 *	kill-at N K		the same, but killed at yield K
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "unit_tests.h"
#include "../../base/test_record.h"

/* The largest n of which each allocation and yield fails. */
#define MOST_FAILING_N 3000

/*
 * Print the end of an answer. If the operation leaked memory, print the number
 * of blocks; the first time also who allocated the first one.
 */
static void finish(void)
{
	static bool printed;

	if (allocator.blocks) {
		printf(" LEAK %llu", allocator.blocks);
		if (!printed)
			print_leak(0);
		printed = true;
	}
	putchar('\n');
	fflush(stdout);
}

void do_decimal(struct fib_call *call, const union fib_value *f, size_t size)
{
	/* The buffer has exactly @size bytes: ASan detects an overflow. */
	char *digits = malloc(size);
	u64 blocks = allocator.blocks;
	ssize_t count;

	for (;;) {
		failures_begin(__builtin_frame_address(0), size, 0);
		allocator.announced = 0;
		count = fib_decimal(call, f, digits, size);
		if (!failures_end())
			break;
		failures_judge(count, NULL, blocks, "");
		call->error = 0;
	}
	if (count == -ERANGE)
		printf("ERANGE");
	else if (count <= 0 || (size_t)count > size)
		printf("ERROR %zd", count);
	else
		printf("%.*s", (int)count, digits);
	free(digits);
}

/* Compute F(@n) until no further allocation or yield fails. */
static void compute_with_failures(struct fib_call *call, u64 n)
{
	union fib_value f;
	int err;

	for (;;) {
		begin_call(call);
		/* F(n) has about n / 5 digits. More failures of long ones take too much time. */
		failures_begin(__builtin_frame_address(0), min(n / 5, 32ULL),
			       0);
		err = fib_compute(call, n, &f);
		if (!err)
			fib_release(&f);
		if (!failures_end())
			return;
		failures_judge(err, NULL, 0, "");
	}
}

static void compute(struct fib_call *call, u64 n)
{
	union fib_value f;
	int err;

	if (n <= MOST_FAILING_N)
		compute_with_failures(call, n);
	begin_call(call);
	err = fib_compute(call, n, &f);
	if (err) {
		printf("ERROR %d", err);
		return;
	}
	print_value(&f);
	/*
	 * Print the value before the counts, because the counts must include
	 * work that the stage does only when the value is printed.
	 */
	printf(" %llu %llu", allocator.taken, allocator.peak_bytes);
	fib_release(&f);
}

/*
 * Compute F(@n) and its digits. Print the return value, the error and the
 * number of bytes that are not freed.
 */
static void whole(struct fib_call *call, u64 n)
{
	char *digits = malloc(n / 4 + 64);
	union fib_value f;
	ssize_t result = fib_compute(call, n, &f);

	if (!result) {
		result = fib_decimal(call, &f, digits, n / 4 + 64);
		fib_release(&f);
	}
	free(digits);
	printf("%zd %d %llu", result, call->error, allocator.bytes);
}

static struct itimerval limit;

static void too_late(int unused)
{
	dprintf(STDERR_FILENO, "fib: no answer within %ld s\n",
		(long)limit.it_value.tv_sec);
	_exit(1);
}

/*
 * End this program if a request takes too much processor time for its size. So
 * an endless loop is reported soon for small numbers, while a slow method has
 * enough time for large numbers.
 */
static void limit_time(const struct request *r)
{
	bool of_n = !strcmp(r->op, "compute") || allocator.tell;
	size_t size = of_n ? strtoull(r->a, NULL, 10) : strlen(r->a);

	limit.it_value.tv_sec = 2 + size / 1000;
	signal(SIGPROF, too_late);
	setitimer(ITIMER_PROF, &limit, NULL);
}

/*
 * The stack of a kernel thread has 16 KB. The sanitizers and this program need
 * more, but not as much as a recursion for each step.
 */
#define STACK_BYTES (128 << 10)

int main(void)
{
	const struct rlimit stack = { STACK_BYTES, STACK_BYTES };
	static struct test_record record;
	char *line = NULL;
	size_t size = 0;
	ssize_t length;

	if (setrlimit(RLIMIT_STACK, &stack) ||
	    getline(&line, &size, stdin) <= 0)
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
		allocator.yield_always = !allocator.fail_at;
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
