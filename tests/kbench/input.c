#include <stdio.h>

int main(void)
{
	int count, x, byte, lines = 0;
	unsigned int hex;
	char word[20];
	long sum = 0;

	if (scanf("%d", &count) != 1)
		return 1;
	for (int i = 0; i < count; i++) {
		if (scanf("%d", &x) != 1)
			return 2;
		sum += x;
	}
	printf("%ld %d", sum, scanf("%x %19s", &hex, word));
	printf(" %u %s\n", hex, word);
	while ((byte = getchar()) != EOF)
		lines += byte == '\n';
	return lines;
}
