#include <stdio.h>

static int place(int n, unsigned int columns, unsigned int up,
		 unsigned int down)
{
	unsigned int all = (1U << n) - 1, open = all & ~(columns | up | down);
	int found = 0;

	if (columns == all)
		return 1;
	while (open) {
		unsigned int bit = open & -open;

		open ^= bit;
		found += place(n, columns | bit, (up | bit) << 1,
			       (down | bit) >> 1);
	}
	return found;
}

int main(void)
{
	for (int n = 4; n <= 7; n++)
		printf("%d queens: %d ways\n", n, place(n, 0, 0, 0));
	return 92;
}
