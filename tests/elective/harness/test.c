// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test one task. This file and the learner's file form one module, which runs
 * the tests when it is loaded. Afterwards the parameter "result" has the first
 * failure, if any, and the record of the checks.
 */
#include <linux/kernel.h>
#include <linux/module.h>

#include "numbers.h"
#include "test_record.h"

static int task;
module_param(task, int, 0400);
static char *nonce = "";
module_param(nonce, charp, 0400);
static char result[200];
module_param_string(result, result, sizeof(result), 0400);

static struct test_record record;
static char failure[100];

static void check(const char *name, unsigned int count, u64 got, u64 expected)
{
	test_record_check(&record, expected);
	if (got != expected && !failure[0])
		snprintf(failure, sizeof(failure),
			 "%s of %u numbers: expected %llu, got %llu", name,
			 count, expected, got);
}

static int __init test_init(void)
{
	static const u32 numbers[] = { 3, 0xffffffff, 0, 7 };
	static const u64 sums[] = { 0, 3, 0x100000002, 0x100000002,
				    0x100000009 };

	test_record_begin(&record, nonce);
	for (unsigned int count = 0; task == 1 && count <= ARRAY_SIZE(numbers);
	     count++)
		check("sum", count, numbers_sum(numbers, count), sums[count]);
	for (unsigned int count = 1; task == 2 && count <= ARRAY_SIZE(numbers);
	     count++)
		check("maximum", count, numbers_max(numbers, count),
		      numbers[count > 1]);
	snprintf(result, sizeof(result), "%s\n" TEST_RECORD_FORMAT, failure,
		 TEST_RECORD_ARGUMENTS(&record));
	return 0;
}

static void __exit test_exit(void)
{
}

module_init(test_init);
module_exit(test_exit);
MODULE_DESCRIPTION("Tests of an elective");
MODULE_LICENSE("Dual MIT/GPL");
