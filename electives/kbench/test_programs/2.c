#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 64
#define ROUNDS 20000

static unsigned char *blocks[BLOCKS];
static unsigned int sizes[BLOCKS], marks[BLOCKS];
static unsigned int seed = 1;

static unsigned int draw(unsigned int below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Allocate a block of 1 byte to 64 KB, and mark both of its ends. */
static int allocate(int i)
{
	sizes[i] = 1 + draw(16u << draw(13));
	marks[i] = draw(256);
	blocks[i] = malloc(sizes[i]);
	if (!blocks[i])
		return 0;
	blocks[i][0] = blocks[i][sizes[i] - 1] = (unsigned char)marks[i];
	return 1;
}

static int whole(int i)
{
	return blocks[i][0] == marks[i] && blocks[i][sizes[i] - 1] == marks[i];
}

/*
 * Allocate about 100 MB in total, but at most 4 MB at a time, and leave some
 * blocks allocated at the end. The input is a seed.
 */
int main(void)
{
	unsigned int left, left_blocks = 0, left_bytes = 0;

	scanf("%u", &seed);
	for (int round = 0; round < ROUNDS; round++) {
		int i = (int)draw(BLOCKS);

		if (blocks[i] && !whole(i)) {
			printf("a block is overwritten in round %d\n", round);
			return 1;
		}
		free(blocks[i]);
		if (!allocate(i)) {
			printf("no memory in round %d\n", round);
			return 1;
		}
	}
	left = draw(BLOCKS / 2);
	for (int i = 0; i < BLOCKS; i++) {
		if (!blocks[i])
			continue;
		if (!whole(i)) {
			printf("block %d is overwritten\n", i);
			return 1;
		}
		if ((unsigned int)i < left) {
			left_blocks++;
			left_bytes += sizes[i];
			continue;
		}
		free(blocks[i]);
	}
	printf("left %u %u\n", left_blocks, left_bytes);
	blocks[0] = malloc(10);
	free(blocks[0]);
	/* The second free of the same block must end the program. */
	free(blocks[0]);
	printf("a block is freed twice\n");
	return 0;
}
