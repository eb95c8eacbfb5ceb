#include <stdio.h>
#include <stdlib.h>

/* Allocate 200 MB in total, but never more than one round's 100 KB at once. */
int main(void)
{
	for (int i = 0; i < 2000; i++) {
		char *small = malloc(10), *large = malloc(100000);

		if (!small || !large) {
			printf("no memory in round %d\n", i);
			return 1;
		}
		small[9] = large[99999] = (char)i;
		free(small);
		free(large);
	}
	printf("all rounds\n");
	return 0;
}
