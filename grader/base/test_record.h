/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The record that a test prints at its end: the number of checks it has done,
 * and a digest of them. grader/base/test_record.py compares the record with the
 * expected one.
 *
 * The exit status of a test that runs untrusted code proves nothing, because
 * the code under test can end the process before the first check. Therefore
 * each check is counted when it is done, and the digest is keyed by a nonce
 * that the grader draws for this run. A record cannot be forged without the
 * nonce, and the record of a test that stopped early has too few checks.
 *
 * The test reads the nonce before untrusted code runs, from a pipe that is
 * empty afterwards. This does not protect against code in the same process, or
 * in the kernel below, that searches the memory of the test for the nonce.
 *
 * Both programs and kernel modules use this file, so it includes no system
 * header.
 */
#ifndef TEST_RECORD_H
#define TEST_RECORD_H

#include "test_support.h"

#define TEST_RECORD_FORMAT "record: %llu checks, digest %016llx\n"
#define TEST_RECORD_ARGUMENTS(record) (record)->checks, (record)->digest

/**
 * struct test_record - the checks that a test has done
 * @nonce: key of the digest, drawn by the grader
 * @checks: number of checks
 * @digest: XOR of one number for each check, so that the order of threads does
 * not matter
 */
struct test_record {
	unsigned long long nonce;
	unsigned long long checks;
	unsigned long long digest;
};

/* Return the digest of a text, which is recorded as the result of a check. */
static inline unsigned long long test_record_text(const char *text)
{
	return test_digest(text, __builtin_strlen(text));
}

/* Begins a record. @digits: the nonce, 16 hexadecimal digits; may be empty. */
static inline void test_record_begin(struct test_record *record,
				     const char *digits)
{
	record->nonce = 0;
	record->checks = 0;
	record->digest = 0;
	for (int i = 0; i < 16; i++) {
		char digit = digits[i];

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if (digit >= 'a' && digit <= 'f')
			digit -= 'a' - 10;
		else
			return;
		record->nonce = record->nonce << 4 | (unsigned char)digit;
	}
}

/* Adds a check to the record. @value: the value that was checked, or 0. */
static inline void test_record_check(struct test_record *record,
				     unsigned long long value)
{
	unsigned long long ordinal =
		__atomic_add_fetch(&record->checks, 1, __ATOMIC_RELAXED);

	__atomic_fetch_xor(
		&record->digest,
		test_mix(record->nonce ^ test_mix(ordinal ^ test_mix(value))),
		__ATOMIC_RELAXED);
}

#endif
