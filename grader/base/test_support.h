/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * What tests in C need again and again: a clock, a digest, random numbers, and
 * a bound for the digits of F(n).
 *
 * For programs and kernel modules alike: nothing is included here. A program
 * that includes <time.h> before this has test_nanoseconds() as well.
 */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

/*
 * TSC cycles, with everything before them done and nothing after them begun; 0
 * on other processors.
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
/* Wall-clock time of a program. */
static inline unsigned long long test_nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 +
	       (unsigned long long)t.tv_nsec;
}
#endif

/* FNV-1a of @size bytes. */
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

/* SplitMix64: a state, of any type of 64 bits, and the number that follows it. */
#define test_random(state) test_mix(*(state) += 0x9e3779b97f4a7c15ull)

/*
 * Bytes enough for the digits of F(n). F(n) < phi^n, so that it has at most
 * n * log10(phi) + 1 digits, and log10(phi) = 0.20898764... < 0.2089877.
 */
static inline unsigned long test_digits_bound(unsigned long long n)
{
	return (unsigned long)(n * 2089877 / 10000000) + 1;
}

#endif
