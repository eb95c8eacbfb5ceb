// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps the record of the kernel's own tests, whose exit status proves nothing:
 * linked with --wrap=main and --wrap=test_pass. The nonce comes from stdin.
 */
#include <stdio.h>
#include <unistd.h>

#include "test_record.h"

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
void __real_test_pass(void);
void __wrap_test_pass(void);

static struct test_record record;

/* The tests call this when one of them has passed. */
void __wrap_test_pass(void)
{
	__real_test_pass();
	test_record_check(&record, 0);
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
