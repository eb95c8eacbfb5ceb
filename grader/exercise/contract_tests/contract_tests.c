// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * fibcontract: the parameters of the module. "ask" takes a verb, an n, a seed
 * and a modulus. When it is read, it returns the answer: a line of numbers, or
 * "wrong: " and the violation. "record" takes a nonce. When it is read, it
 * returns the record of all answers so far.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#include "arena.h"
#include "test_record.h"
#include "contract_tests.h"

static char answer[1024];
static struct test_record record;
static char said[256];
static DEFINE_SPINLOCK(said_lock);

void complain(const char *format, ...)
{
	va_list args;

	spin_lock(&said_lock);
	if (!said[0]) {
		va_start(args, format);
		vscnprintf(said, sizeof(said), format, args);
		va_end(args);
	}
	spin_unlock(&said_lock);
}

bool contract_wrong(void)
{
	return said[0];
}

u64 contract_seed;
u64 contract_modulus;

u64 residue(const char *digits, size_t count)
{
	u64 sum = 0;

	while (count) {
		u64 chunk = 0, base = 1;

		for (int i = 0; i < 9 && count; i++, count--) {
			chunk = 10 * chunk + (*digits++ - '0');
			base *= 10;
		}
		div64_u64_rem(sum * base + chunk, contract_modulus, &sum);
	}
	return sum;
}

static int ask_set(const char *value, const struct kernel_param *kp)
{
	char verb[20];
	u64 n;

	if (sscanf(value, "%19s %llu %llu %llu", verb, &n, &contract_seed,
		   &contract_modulus) != 4 ||
	    !contract_modulus)
		return -EINVAL;
	said[0] = '\0';
	if (!strcmp(verb, "try"))
		try(n, answer, sizeof(answer));
	else if (!strcmp(verb, "top"))
		top(n, answer, sizeof(answer));
	else if (!strcmp(verb, "once"))
		once(n, answer, sizeof(answer));
	else if (!strcmp(verb, "scalar"))
		without_vectors(top, n, answer, sizeof(answer));
	else if (!strcmp(verb, "scalar-once"))
		without_vectors(once, n, answer, sizeof(answer));
	else if (!strcmp(verb, "retention"))
		result_retention(n, answer, sizeof(answer));
	else if (!strcmp(verb, "yield-interval"))
		yield_interval(n, false, answer, sizeof(answer));
	else if (!strcmp(verb, "vector-interval"))
		yield_interval(n, true, answer, sizeof(answer));
	else if (!strcmp(verb, "yield-interval-at"))
		yield_interval_at(n, false, answer, sizeof(answer));
	else if (!strcmp(verb, "vector-interval-at"))
		yield_interval_at(n, true, answer, sizeof(answer));
	else if (!strcmp(verb, "concurrency"))
		concurrent_calls(n, answer, sizeof(answer));
	else
		return -EINVAL;
	if (contract_wrong())
		scnprintf(answer, sizeof(answer), "wrong: %s\n", said);
	test_record_check(&record, test_record_text(answer));
	return 0;
}

static int ask_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%s", answer);
}

static const struct kernel_param_ops ask_ops = {
	.set = ask_set,
	.get = ask_get,
};
module_param_cb(ask, &ask_ops, NULL, 0600);

static int record_set(const char *value, const struct kernel_param *kp)
{
	test_record_begin(&record, value);
	return 0;
}

static int record_get(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, TEST_RECORD_FORMAT,
			 TEST_RECORD_ARGUMENTS(&record));
}

static const struct kernel_param_ops record_ops = {
	.set = record_set,
	.get = record_get,
};
module_param_cb(record, &record_ops, NULL, 0600);

static int __init fibtrial_init(void)
{
	contract_draw_pattern();
	return during_begin();
}

static void __exit fibtrial_exit(void)
{
	during_end();
	arena_destroy();
}

module_init(fibtrial_init);
module_exit(fibtrial_exit);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Contract tests of a stage of fibdrv");
