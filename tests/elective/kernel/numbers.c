// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "numbers.h"

/**
 * numbers_sum - add numbers
 * @numbers: the numbers
 * @count: the number of elements of @numbers
 *
 * Return: the sum, which is 0 for no numbers.
 */
u64 numbers_sum(const u32 *numbers, unsigned int count)
{
	/* task 1 { */
	u64 sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum += numbers[i];
	return sum;
	/* } task 1, until then: return 0; */
}

/**
 * numbers_max - find the largest number
 * @numbers: the numbers
 * @count: the number of elements of @numbers, at least 1
 *
 * Return: the largest number.
 */
u32 numbers_max(const u32 *numbers, unsigned int count)
{
	/* task 2 { */
	u32 most = numbers[0];

	for (unsigned int i = 1; i < count; i++)
		if (numbers[i] > most)
			most = numbers[i];
	return most;
	/* } task 2, until then: return 0; */
}
