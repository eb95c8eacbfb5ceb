#include <stdio.h>

/*
 * Read decimal numbers to the end. Print their count, a sum of products, and what
 * scanf returns at the end.
 */
static void all_numbers(void)
{
	unsigned long long sum = 0;
	long long x;
	int count = 0, found;

	while ((found = scanf("%lld", &x)) == 1) {
		sum = sum * 31 + (unsigned long long)x;
		count++;
	}
	printf("%d numbers, %llu, then %d\n", count, sum, found);
}

/*
 * Each input line has a format, text to read by this format, and more text.
 * Print the numbers that scanf reads, and the number of bytes that it leaves. In
 * the format, "_" stands for white space.
 * At the end of the input, read by the last format once more. The line "all"
 * precedes decimal numbers without a format.
 */
int main(void)
{
	static char format[64];
	long long x = 0, y = 0;

	while (scanf("%63s", format) == 1) {
		int left = 0, byte, found;

		if (format[0] == 'a' && format[1] == 'l') {
			all_numbers();
			return 0;
		}
		for (char *f = format; *f; f++)
			if (*f == '_')
				*f = ' ';
		x = y = 0;
		found = scanf(format, &x, &y);
		while ((byte = getchar()) >= 0 && byte != '\n')
			left++;
		printf("%s %d %lld %lld, %d left\n", format, found, x, y, left);
	}
	printf("%d at the end\n", scanf(format, &x, &y));
	return 0;
}
