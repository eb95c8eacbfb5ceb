/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * The record that a test ends with: how many checks it has done, and a digest
 * of them. grader/base/test_record.py reads it and knows what it must be.
 *
 * A test that runs untrusted code proves nothing by its exit status: the code
 * under test can end the process before the first check. So each check is
 * counted here when it is done, and the digest is keyed by a nonce that the
 * grader draws for this run. Without the nonce no record can be composed, and
 * one that stops early has too few checks.
 *
 * The test reads the nonce before untrusted code runs, from a pipe that is empty
 * then. This does not defend against code in the same process, or in the kernel
 * below, that knows this layout and searches the memory of the test for it.
 *
 * For programs and kernel modules alike: nothing else is included here.
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
 * @digest: XOR of a number for each check, so that threads may come in any order
 */
struct test_record {
	unsigned long long nonce;
	unsigned long long checks;
	unsigned long long digest;
};

/* A digest of a text, for a check that is about a text. */
static inline unsigned long long test_record_text(const char *text)
{
	return test_digest(text, __builtin_strlen(text));
}

/* Begins a record with the nonce of 16 hexadecimal digits, or with none. */
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

/* Counts a check that has been done; @value is what it was about, or 0. */
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
