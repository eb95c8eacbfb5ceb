#include <stdio.h>

int main(void)
{
	int x, found;
	unsigned int hex;

	while (scanf("%d", &x) == 1)
		printf("%d\n", x);
	found = scanf("to %2d %x", &x, &hex);
	printf("%d %d %x\n", found, x, hex);
	return 0;
}
