#include <stdio.h>

/*
 * Each input line has a letter for the format, a number, and more text. Print
 * the number that scanf reads, and the rest of the line.
 */
int main(void)
{
	static char rest[100];
	long long wide;
	int kind, x, y, found;

	while ((kind = getchar()) >= 0) {
		x = y = found = 0;
		wide = 0;
		if (kind == 'd')
			found = scanf("%d", &x);
		else if (kind == 'u')
			found = scanf("%u", (unsigned int *)&x);
		else if (kind == 'x')
			found = scanf("%x", (unsigned int *)&x);
		else if (kind == 'o')
			found = scanf("%o", (unsigned int *)&x);
		else if (kind == 'i')
			found = scanf("%i", &x);
		else if (kind == 'l')
			found = scanf("%lld", &wide);
		else if (kind == 'X')
			found = scanf("%llx", (unsigned long long *)&wide);
		else if (kind == 'O')
			found = scanf("%llo", (unsigned long long *)&wide);
		else if (kind == 'w')
			found = scanf("%3d%4x", &x, (unsigned int *)&y);
		else if (kind == 'v')
			found = scanf("%1d", &x);
		else if (kind == 'V')
			found = scanf("%2x", (unsigned int *)&x);
		printf("%c %d %d %d %lld", kind, found, x, y, wide);
		rest[0] = '\0';
		if (fgets(rest, sizeof(rest), stdin))
			printf(" and %s", rest);
	}
	printf(".\n");
	return 0;
}
