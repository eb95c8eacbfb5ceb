#include <stdio.h>

/* 50,000 calls deep, some three megabytes: no stack of a kernel has these. */
static int deep(int n)
{
	return n ? 1 + deep(n - 1) : 0;
}

int main(void)
{
	printf("%d\n", deep(50000));
	return 0;
}
