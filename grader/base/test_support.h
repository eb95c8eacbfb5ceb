/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * Helpers for tests in C: a clock, a digest, random numbers, and a bound for
 * the number of digits of F(n).
 *
 * Both programs and kernel modules use this file, so it includes nothing. A
 * program that includes <time.h> first also gets test_nanoseconds().
 */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

/*
 * Returns the TSC, serialized by lfence against the instructions before and
 * after; 0 on other processors than x86-64.
 */
static inline unsigned long long test_cycles(void)
{
#ifdef __x86_64__
	unsigned int low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence"
			 : "=a"(low), "=d"(high)
			 :
			 : "memory");
	return (unsigned long long)high << 32 | low;
#else
	return 0;
#endif
}

#if defined(CLOCK_MONOTONIC) && !defined(__KERNEL__)
/* Returns the monotonic time. */
static inline unsigned long long test_nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 +
	       (unsigned long long)t.tv_nsec;
}
#endif

/* Returns the FNV-1a hash of @size bytes. */
static inline unsigned long long test_digest(const char *bytes,
					     unsigned long size)
{
	unsigned long long hash = 0xcbf29ce484222325ull;

	while (size--)
		hash = (hash ^ (unsigned char)*bytes++) * 0x100000001b3ull;
	return hash;
}

/* The finalizer of SplitMix64: a bijection that spreads each bit over all. */
static inline unsigned long long test_mix(unsigned long long x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/*
 * SplitMix64: advances *@state, an integer of 64 bits; returns the next number.
 */
#define test_random(state) test_mix(*(state) += 0x9e3779b97f4a7c15ull)

/*
 * Returns an upper bound of the number of digits of F(n). Since F(n) < phi^n,
 * F(n) has at most n * log10(phi) + 1 digits. log10(phi) = 0.20898764...,
 * which is less than 0.2089877.
 */
static inline unsigned long test_digits_bound(unsigned long long n)
{
	return (unsigned long)(n * 2089877 / 10000000) + 1;
}

#endif
