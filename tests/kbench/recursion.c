#include <stdio.h>

/* 100,000 nested calls take more than six megabytes of stack. */
static int deep(int n)
{
	return n ? 1 + deep(n - 1) : 0;
}

static int ackermann(int m, int n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

static int hanoi(int n, int from, int to)
{
	return n ? 1 + hanoi(n - 1, from, 6 - from - to) +
			       hanoi(n - 1, 6 - from - to, to) :
		   0;
}

int main(void)
{
	printf("%d %d %d\n", deep(100000), ackermann(2, 9), hanoi(12, 1, 3));
	return 3;
}
