#include <stdio.h>

/*
 * Each input line has a format, text to read by this format, and more text.
 * Print the numbers that scanf reads, and the number of bytes that it leaves.
 */
int main(void)
{
	static char format[64];

	while (scanf("%63s", format) == 1) {
		long long x = 0, y = 0;
		int left = 0, byte, found = scanf(format, &x, &y);

		while ((byte = getchar()) >= 0 && byte != '\n')
			left++;
		printf("%s %d %lld %lld, %d left\n", format, found, x, y, left);
	}
	printf(".\n");
	return 0;
}
