// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keep a record of the kernel's own tests, because their exit status proves nothing. Linked with
 * --wrap=main and --wrap=test_pass. The nonce comes from stdin.
 */
#include <stdio.h>
#include <unistd.h>

#include "test_record.h"

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
void __real_test_pass(void);
void __wrap_test_pass(void);

static struct test_record record;

/* The kernel's tests call test_pass() after each test that passed. */
void __wrap_test_pass(void)
{
	__real_test_pass();
	test_record_check(&record, 0);
}

/* The kernel's tests use their memory again without a notice, so nothing is checked here. */
void memblock_array_grows(void);
void memblock_array_grows(void)
{
}

void memblock_array_moved(void);
void memblock_array_moved(void)
{
}

int __wrap_main(int argc, char **argv)
{
	char nonce[17] = "";
	int status;

	if (read(STDIN_FILENO, nonce, sizeof(nonce)) < 0)
		return 2;
	test_record_begin(&record, nonce);
	status = __real_main(argc, argv);
	printf(TEST_RECORD_FORMAT, TEST_RECORD_ARGUMENTS(&record));
	return status;
}
