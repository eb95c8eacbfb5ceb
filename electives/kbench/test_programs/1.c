#include <stdio.h>
#include <stdlib.h>

static unsigned int seed = 1;
static int depth = 50000, status;

/*
 * 50,000 nested calls take more than a megabyte, and a kernel stack has 16 KB.
 */
static unsigned int deep(int n, unsigned int x)
{
	x = x * 1664525 + seed;
	if (n)
		return deep(n - 1, x) ^ (x >> 7);
	if (!status)
		return x;
	printf("exit at a depth of %d, %u\n", depth, x);
	exit(status);
}

/* The input: a seed, the number of nested calls, and a status for exit. */
int main(void)
{
	scanf("%u %d %d", &seed, &depth, &status);
	printf("%u\n", deep(depth, seed));
	return 0;
}
