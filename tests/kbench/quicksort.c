#include <stdio.h>

static int a[2000];

static void sort(int *from, int *to)
{
	int pivot, *i = from, *j = to;

	if (from >= to)
		return;
	pivot = from[(to - from) / 2];
	while (i <= j) {
		while (*i < pivot)
			i++;
		while (*j > pivot)
			j--;
		if (i <= j) {
			int t = *i;

			*i++ = *j;
			*j-- = t;
		}
	}
	sort(from, j);
	sort(i, to);
}

int main(void)
{
	unsigned int x = 1, sum = 0;

	for (int i = 0; i < 2000; i++) {
		x = x * 1103515245 + 12345;
		a[i] = (int)(x >> 8) - 8000000;
	}
	sort(a, a + 1999);
	for (int i = 1; i < 2000; i++) {
		if (a[i - 1] > a[i])
			return 1;
		sum = sum * 31 + (unsigned int)a[i];
	}
	printf("%d %d %u\n", a[0], a[1999], sum);
	return 0;
}
