#include <stdio.h>
#include <stdlib.h>

/* Call exit() in a deep recursion, with two blocks that are never freed. */
static void dive(int depth)
{
	if (depth == 1000) {
		printf("deep enough\n");
		exit(77);
	}
	dive(depth + 1);
}

int main(void)
{
	int *kept = malloc(40), *too = malloc(60);

	printf("%d\n", kept && too);
	dive(0);
	printf("never here\n");
	return 0;
}
