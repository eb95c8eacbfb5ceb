// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Build a stage as a program, from the same sources as the module, to run it
 * under valgrind, the sanitizers, callgrind and a debugger.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "allocator_state.h"

static const char usage[] =
	"usage: fib max_n              the largest n of this stage\n"
	"       fib fib N...           n and F(n), a line each\n"
	"       fib check N...         the same, and check that decimal keeps\n"
	"                              its contract\n"
	"       fib fail MOST N...     make the allocations of F(n) fail, one\n"
	"                              after the other, or MOST of them at\n"
	"                              even distances\n"
	"       fib kill MOST N...     the same for being killed at a yield\n"
	"       fib fail-at K N...     make allocation K of F(n) fail\n"
	"       fib kill-at K N...     be killed at yield K of F(n)\n"
	"       fib time ROUNDS N...   ns for compute and decimal, each the\n"
	"                              least of ROUNDS; allocations, peak\n"
	"                              bytes and limbs\n"
	"       fib profile REPEAT N...  compute and convert, print nothing\n"
	"N is a number or a range such as 0-300.\n";

static void __attribute__((noreturn, format(printf, 2, 3)))
quit(int status, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("fib: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

/* Return the size of the buffer for fib_decimal, as in driver.c. */
static size_t digits_bound(u64 n)
{
	return n * 2089877 / 10000000 + 1;
}

static char *room_for(size_t bytes)
{
	char *room = malloc(bytes);

	if (!room)
		quit(2, "no memory for %zu bytes", bytes);
	return room;
}

/* Let the stage compute and convert F(n), and print the digits. */
static void run_fib(u64 n, u64 unused)
{
	struct fib_call call;
	union fib_value f;
	size_t bound = digits_bound(n);
	char *digits = room_for(bound);
	ssize_t count;

	begin_call(&call);
	if (fib_compute(&call, n, &f))
		quit(1, "F(%llu): compute fails with %d", n, call.error);
	count = fib_decimal(&call, &f, digits, bound);
	if (count <= 0)
		quit(1, "F(%llu): decimal fails with %zd", n, count);
	printf("%llu %.*s\n", n, (int)count, digits);
	fib_release(&f);
	free(digits);
	if (allocator.blocks || allocator.bytes)
		quit(1, "F(%llu): %llu bytes in %llu blocks are left", n,
		     allocator.bytes, allocator.blocks);
}

/*
 * Like run_fib, but also check that fib_decimal does not change the number,
 * accepts a buffer of exactly the digits' size, rejects a smaller one, and does
 * not write outside of the buffer.
 */
static void run_check(u64 n, u64 unused)
{
	struct fib_call compute, decimal;
	union fib_value f;
	size_t bound = digits_bound(n);
	char *digits = room_for(bound), *again;
	ssize_t count, result;

	begin_call(&compute);
	begin_call(&decimal);
	if (fib_compute(&compute, n, &f))
		quit(1, "F(%llu): compute fails with %d", n, compute.error);
	count = fib_decimal(&decimal, &f, digits, bound);
	if (count <= 0 || (size_t)count > bound)
		quit(1, "F(%llu): decimal returns %zd", n, count);
	if (decimal.blocks)
		quit(1, "F(%llu): decimal leaves %llu blocks", n,
		     decimal.blocks);
	if (!fib_limbs(&f))
		quit(1, "F(%llu) has no limb", n);

	/*
	 * Allocate exactly @size bytes, so that a checker detects an overflow.
	 */
	for (int less = 0; less <= 2 && less <= count; less++) {
		size_t size = less == 2 ? 0 : count - less;

		again = room_for(size);
		result = fib_decimal(&decimal, &f, again, size);
		if (result != (less ? -ERANGE : count))
			quit(1, "F(%llu): decimal into %zu bytes returns %zd",
			     n, size, result);
		if (!less && memcmp(digits, again, count))
			quit(1, "F(%llu): decimal differs the second time", n);
		if (decimal.blocks)
			quit(1, "F(%llu): decimal leaves %llu blocks", n,
			     decimal.blocks);
		free(again);
	}

	printf("%llu %.*s\n", n, (int)count, digits);
	fib_release(&f);
	free(digits);
	if (compute.blocks || compute.bytes)
		quit(1, "F(%llu): %llu bytes in %llu blocks are left", n,
		     compute.bytes, compute.blocks);
}

/* Return the failure injected into this call, as part of a message. */
static const char *failure(void)
{
	static char text[64];

	text[0] = '\0';
	if (allocator.fail_at)
		snprintf(text, sizeof(text),
			 " when allocation %llu was made to fail,",
			 allocator.fail_at);
	if (allocator.kill_at)
		snprintf(text, sizeof(text),
			 " when yield %llu found the caller killed,",
			 allocator.kill_at);
	return text;
}

/*
 * Compute and convert F(n) with the failures that the variable allocator
 * requests. Return true if no call failed. A call that failed must have
 * returned @error and freed all memory.
 */
static bool survives(u64 n, int error, char *digits)
{
	struct fib_call call;
	union fib_value f;
	ssize_t result;

	begin_call(&call);
	result = fib_compute(&call, n, &f);
	if (!result) {
		result = fib_decimal(&call, &f, digits, digits_bound(n));
		fib_release(&f);
	}
	if (allocator.blocks || allocator.bytes)
		quit(1, "F(%llu):%s %llu bytes in %llu blocks are left", n,
		     failure(), allocator.bytes, allocator.blocks);
	if (result > 0 && !call.error)
		return true;
	if (result != error || call.error != error)
		quit(1, "F(%llu):%s %zd is returned, %d noted, %d expected", n,
		     failure(), result, call.error, error);
	return false;
}

static u64 failing_calls;

static u64 current_n;

#ifdef __SANITIZE_ADDRESS__
static const bool is_sanitized = true;
#else
static const bool is_sanitized;
#endif

/*
 * Print which failure the stage does not survive, and let the signal end the
 * program. AddressSanitizer prints more than this, so it keeps its own handler.
 */
static void crashed(int number)
{
	const char *what = allocator.kill_at ? "kill" : "fail";
	u64 place = allocator.kill_at ? allocator.kill_at : allocator.fail_at;

	if (place)
		dprintf(STDERR_FILENO,
			"fib: F(%llu): it crashes%.*s; make stage=%s sanitize n=%llu %s=%llu shows where\n",
			current_n, (int)strlen(failure()) - 1, failure(),
			FIBDRV_STAGE, current_n, what, place);
	signal(number, SIG_DFL);
	raise(number);
}

/*
 * Compute F(n) once for each of its @count allocations or yields, and make this
 * one fail. If there are more than @most, use only @most of them, at equal
 * distances. Always use the last, because it is in decimal.
 */
static void fail_in_turn(u64 n, u64 *place, u64 count, u64 most, int error,
			 char *digits)
{
	u64 runs = min(count, most);

	current_n = n;
	if (!is_sanitized)
		signal(SIGSEGV, crashed);
	for (u64 i = 1; i <= runs; i++) {
		*place = i * count / runs;
		if (survives(n, error, digits))
			quit(1, "F(%llu) ignores failure %llu of %llu", n,
			     *place, count);
		failing_calls++;
	}
	*place = 0;
}

static void run_fail(u64 n, u64 most)
{
	char *digits = room_for(digits_bound(n));

	allocator = (struct allocator_state){};
	if (!survives(n, 0, digits))
		quit(1, "F(%llu) fails on its own", n);
	fail_in_turn(n, &allocator.fail_at, allocator.allocations, most,
		     -ENOMEM, digits);
	free(digits);
}

static void run_kill(u64 n, u64 most)
{
	char *digits = room_for(digits_bound(n));

	allocator = (struct allocator_state){ .yield_always = true };
	if (!survives(n, 0, digits))
		quit(1, "F(%llu) fails on its own", n);
	fail_in_turn(n, &allocator.kill_at, allocator.yields, most, -EINTR,
		     digits);
	allocator = (struct allocator_state){};
	free(digits);
}

static void at(u64 n, int error)
{
	char *digits = room_for(digits_bound(n));

	if (survives(n, error, digits))
		quit(1, "F(%llu) makes only %llu allocations and %llu yields",
		     n, allocator.allocations, allocator.yields);
	printf("F(%llu):%s the error is returned, and all is released\n", n,
	       failure());
	free(digits);
}

static void run_fail_at(u64 n, u64 place)
{
	allocator = (struct allocator_state){ .fail_at = place, .tell = true };
	at(n, -ENOMEM);
}

static void run_kill_at(u64 n, u64 place)
{
	allocator = (struct allocator_state){
		.kill_at = place,
		.tell = true,
		.yield_always = true,
	};
	at(n, -EINTR);
}

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void run_time(u64 n, u64 rounds)
{
	size_t bound = digits_bound(n);
	char *digits = room_for(bound);
	u64 compute = -1, decimal = -1;
	struct fib_call call = {};
	size_t limbs = 0;

	while (rounds--) {
		union fib_value f;
		u64 begin, middle, end;

		begin_call(&call);
		begin = now();
		if (fib_compute(&call, n, &f))
			quit(1, "F(%llu): compute fails with %d", n,
			     call.error);
		middle = now();
		if (fib_decimal(&call, &f, digits, bound) <= 0)
			quit(1, "F(%llu): decimal fails", n);
		end = now();
		limbs = fib_limbs(&f);
		fib_release(&f);
		compute = min(compute, middle - begin);
		decimal = min(decimal, end - middle);
	}
	printf("%8llu compute %10llu decimal %10llu ns, %llu allocations, "
	       "%llu bytes at most, %zu limbs\n",
	       n, compute, decimal, allocator.taken, allocator.peak_bytes,
	       limbs);
	free(digits);
}

static void run_profile(u64 n, u64 repeat)
{
	size_t bound = digits_bound(n);
	char *digits = room_for(bound);

	while (repeat--) {
		struct fib_call call;
		union fib_value f;

		begin_call(&call);
		if (fib_compute(&call, n, &f) ||
		    fib_decimal(&call, &f, digits, bound) <= 0)
			quit(1, "F(%llu) fails", n);
		fib_release(&f);
	}
	free(digits);
}

/* Parse a number up to @stop or the end. Set @next to the text after it. */
static u64 number(const char *argument, const char *text, char stop,
		  const char **next)
{
	char *end;
	u64 value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || errno || (*end && *end != stop))
		quit(2, "'%s' is not a number or range such as 5 or 0-300",
		     argument);
	*next = *end ? end + 1 : NULL;
	return value;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(u64 n, u64 parameter);
		bool parameter;
	} commands[] = {
		{ "fib", run_fib, false },
		{ "check", run_check, false },
		{ "fail", run_fail, true },
		{ "kill", run_kill, true },
		{ "fail-at", run_fail_at, true },
		{ "kill-at", run_kill_at, true },
		{ "time", run_time, true },
		{ "profile", run_profile, true },
	};
	const size_t count = sizeof(commands) / sizeof(*commands);
	u64 parameter = 1;
	const char *next;
	size_t i = 0;
	int arg = 2;

	if (argc == 2 && !strcmp(argv[1], "max_n")) {
		printf("%d\n", FIBDRV_MAX_N);
		return 0;
	}
	while (argc > 1 && i < count && strcmp(argv[1], commands[i].name))
		i++;
	if (argc < 2 || i == count || argc < 3 + commands[i].parameter) {
		fputs(usage, stderr);
		return 2;
	}
	if (commands[i].parameter) {
		parameter = number(argv[arg], argv[arg], 0, &next);
		if (!parameter)
			quit(2, "'%s' must be at least 1", argv[arg]);
		arg++;
	}
	for (; arg < argc; arg++) {
		u64 low = number(argv[arg], argv[arg], '-', &next);
		u64 high = next ? number(argv[arg], next, 0, &next) : low;

		if (high > FIBDRV_MAX_N)
			quit(2, "this stage goes to n = %d, not %llu",
			     FIBDRV_MAX_N, high);
		for (u64 n = low; n <= high; n++)
			commands[i].run(n, parameter);
	}
	if (failing_calls)
		printf("%llu failures, each reported and cleaned up after\n",
		       failing_calls);
	return 0;
}
