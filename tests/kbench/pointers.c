#include <stdio.h>

static int add(int a, int b)
{
	return a + b;
}

static int sub(int a, int b)
{
	return a - b;
}

static int mul(int a, int b)
{
	return a * b;
}

static int (*const table[])(int, int) = { add, sub, mul };

static int fold(int (*f)(int, int), const int *from, int count, int start)
{
	for (int i = 0; i < count; i++)
		start = f(start, from[i]);
	return start;
}

int main(void)
{
	static const int numbers[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	int last = 0;

	for (int i = 0; i < 3; i++) {
		last = fold(table[i], numbers, 8, 2);
		printf("%d: %d\n", i, last);
	}
	return last & 255;
}
