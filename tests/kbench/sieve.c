#include <stdio.h>
#include <string.h>

static char composite[10000];

int main(void)
{
	int count = 0;

	memset(composite, 0, sizeof(composite));
	for (int i = 2; i < 10000; i++) {
		if (composite[i])
			continue;
		count++;
		if (count % 200 == 0)
			printf("prime %d is %d\n", count, i);
		for (int j = 2 * i; j < 10000; j += i)
			composite[j] = 1;
	}
	printf("%d primes below 10000\n", count);
	return count % 256;
}
