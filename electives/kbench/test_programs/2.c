#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 64
#define ROUNDS 100000
#define NODES 1000
#define LISTS 1000
#define LARGE 800
#define TINY 3000000

/* make elective=kbench check draws the seed. */
#define SEED 1

static unsigned char *blocks[BLOCKS];
static unsigned int sizes[BLOCKS], marks[BLOCKS];
static unsigned int seed = SEED;

static unsigned int draw(unsigned int below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Allocate a block of 1 byte to 64 KB, and fill it. */
static int allocate(int i)
{
	sizes[i] = 1 + draw(16u << draw(13));
	marks[i] = draw(256);
	blocks[i] = malloc(sizes[i]);
	if (!blocks[i])
		return 0;
	memset(blocks[i], (int)marks[i], sizes[i]);
	return 1;
}

/* Return whether a block still has its content: the ends, and a byte between. */
static int whole(int i)
{
	return blocks[i][0] == marks[i] &&
	       blocks[i][sizes[i] - 1] == marks[i] &&
	       blocks[i][draw(sizes[i])] == marks[i];
}

struct node {
	struct node *next;
	unsigned int value;
	char more[80];
};

/* Build a long list of small blocks, add its values, and free it. */
static int make_list(void)
{
	struct node *list = NULL;
	unsigned int sum = 0;

	for (unsigned int i = 0; i < NODES; i++) {
		struct node *node = malloc(sizeof(*node));

		if (!node)
			return 0;
		node->next = list;
		node->value = i;
		list = node;
	}
	while (list) {
		struct node *next = list->next;

		sum += list->value;
		free(list);
		list = next;
	}
	return sum == NODES * (NODES - 1) / 2;
}

/* Allocate and free more tiny blocks than the whole memory can hold. */
static int tiny_blocks(void)
{
	for (int round = 0; round < TINY; round++) {
		unsigned char *block = malloc(1 + round % 16);

		if (!block)
			return 0;
		block[round % 16] = 3;
		free(block);
	}
	return 1;
}

/* Allocate blocks of up to 8 MB, one at a time, about 900 MB in total. */
static int large_blocks(void)
{
	for (int round = 0; round < LARGE; round++) {
		unsigned int size = 1 + draw((128u << 10) << draw(7));
		unsigned char *block = malloc(size);

		if (!block)
			return 0;
		block[0] = 1;
		block[size - 1] = 2;
		free(block);
	}
	return 1;
}

/*
 * Allocate about 1 GB in total, but at most 8 MB at a time, and leave some
 * blocks allocated at the end.
 */
int main(void)
{
	unsigned int left, left_blocks = 0, left_bytes = 0;

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
		if (round % (ROUNDS / LISTS) == 0 && !make_list()) {
			printf("no list of %d blocks in round %d\n", NODES,
			       round);
			return 1;
		}
	}
	if (!large_blocks()) {
		printf("no memory for a block of up to 8 MB\n");
		return 1;
	}
	if (!tiny_blocks()) {
		printf("no memory for a block of up to 16 bytes\n");
		return 1;
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
	blocks[0] = malloc(1 + draw(16u << draw(8)));
	free(blocks[0]);
	/* The second free of the same block must end the program. */
	free(blocks[0]);
	printf("a block is freed twice\n");
	return 0;
}
