#include <stdio.h>

/*
 * 50,000 nested calls take about three megabytes, more than a kernel stack has.
 */
static int deep(int n)
{
	return n ? 1 + deep(n - 1) : 0;
}

int main(void)
{
	printf("%d\n", deep(50000));
	return 0;
}
