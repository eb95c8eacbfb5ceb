#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 64
#define KEPT 4 /* the number of blocks that stay in use to the end */
#define ROUNDS 100000
#define NODES 1000
#define LISTS 1000
#define LARGE 800
#define TINY 3000000
#define TWICE 1000
#define MOST_USED 3
#define FAR 2500
#define KINDS 8

/* make elective=kbench check draws the seed. */
#define SEED 1

/*
 * Print the blocks and bytes that the program does not free, but only in a
 * process, where make elective=kbench check defines this macro. In the kernel,
 * the heap must not find these numbers in the output.
 */
#ifndef TELL_LEFT
#define TELL_LEFT(blocks, bytes) ((void)(blocks), (void)(bytes))
#endif

static unsigned char *blocks[BLOCKS];
static unsigned int sizes[BLOCKS], marks[BLOCKS];
static unsigned int seed = SEED;

static unsigned int draw(unsigned int below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Print a drawn number, so that the output shows how far the program came. */
static void tell(void)
{
	printf("%u\n", draw(1 << 24));
	fflush(stdout);
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

/*
 * Allocate blocks of 2 KB to 16 MB, one at a time, about 1.5 GB in total.
 * The kernel's heap of 32 MB holds only one block of each power of two, so an
 * allocation fails soon after a block was lost.
 */
static int large_blocks(void)
{
	for (int round = 0; round < LARGE; round++) {
		unsigned int half = 2048u << draw(13);
		unsigned int size = half + 1 + draw(half);
		unsigned char *block = malloc(size);

		if (!block) {
			printf("no memory for a block of up to 16 MB\n");
			return 1;
		}
		block[0] = 1;
		block[size - 1] = 2;
		free(block);
	}
	tell();
	return 0;
}

/*
 * Free a block, then @after others, then the same block again, which must end
 * the program. @before others are freed before, and @stay others never. The
 * process must end, too:
 * - glibc unmaps the first block of 128 KB or more that is freed. It takes the
 *   later ones from its heap.
 * - A block of 1 byte, which stays allocated, follows each block, so glibc does
 *   not merge free blocks.
 * - glibc examines only the first seven free blocks of a size up to 1,032, so
 *   @before must be below seven there.
 */
static int free_twice(unsigned int size, int before, int after, int stay)
{
	static void *others[TWICE], *between[TWICE], *used[MOST_USED];
	int count = before + 1 + after;

	tell(); /* The first output allocates a buffer in a process. */
	free(malloc(size));
	for (int i = 0; i < count; i++) {
		others[i] = malloc(size);
		between[i] = malloc(1);
		if (!others[i] || !between[i]) {
			printf("no memory for block %d\n", i);
			return 1;
		}
	}
	TELL_LEFT(count + stay, count + stay * size);
	for (int i = 0; i < stay; i++) {
		used[i] = malloc(size);
		if (!used[i]) {
			printf("no memory for a block that stays\n");
			return 1;
		}
	}
	for (int i = 0; i < count; i++)
		free(others[i]);
	tell();
	free(others[before]);
	printf("a block is freed twice\n");
	return 0;
}

struct link {
	struct link *next;
};

/*
 * Allocate @count blocks, free them all, and do so a second time. The kernel's
 * heap has no room for twice as many, so free must keep each of them.
 */
static int again(unsigned int size, int count)
{
	for (int round = 0; round < 2; round++) {
		struct link *list = NULL;

		for (int i = 0; i < count; i++) {
			struct link *block = malloc(size);

			if (!block) {
				printf("no memory for block %d in round %d\n",
				       i, round);
				return 1;
			}
			block->next = list;
			list = block;
		}
		while (list) {
			struct link *next = list->next;

			free(list);
			list = next;
		}
	}
	tell();
	return 0;
}

/* Allocate blocks of one kind. */
static int allocate_far(void **far, int count, unsigned int size)
{
	for (int i = 0; i < count; i++) {
		far[i] = malloc(size);
		if (!far[i])
			return 0;
	}
	return 1;
}

/*
 * Allocate blocks of eight kinds while many blocks of each are free. Each kind
 * has sizes that are rounded up to another power of two, 16 to 2048. If a list
 * holds free blocks of two kinds, malloc must search for the next one of the
 * right size, because all blocks of a kind are freed one after the other. A
 * quarter of the blocks of the kinds are allocated in the order in which they
 * were freed, a quarter in the opposite order, and the others in turn.
 */
static int far_blocks(void)
{
	static void *far[KINDS][FAR];
	unsigned int size[KINDS];

	for (int kind = 0; kind < KINDS; kind++) {
		unsigned int below = kind ? 8u << kind : 0;

		size[kind] = below + 1 + draw(below ? below : 16);
		if (!allocate_far(far[kind], FAR, size[kind]))
			return 1;
	}
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < FAR; i++)
			free(far[kind][i]);
	for (int kind = 0; kind < KINDS; kind++)
		if (!allocate_far(far[kind], FAR / 4, size[kind]))
			return 1;
	for (int kind = KINDS; kind-- > 0;)
		if (!allocate_far(far[kind] + FAR / 4, FAR / 4, size[kind]))
			return 1;
	for (int i = FAR / 2; i < FAR; i++)
		for (int kind = 0; kind < KINDS; kind++)
			if (!allocate_far(far[kind] + i, 1, size[kind]))
				return 1;
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < FAR; i++)
			free(far[kind][i]);
	tell();
	return 0;
}

/*
 * Allocate about 600 MB in total, but at most 4 MB at a time, and leave some
 * blocks allocated at the end.
 */
static int many_blocks(void)
{
	unsigned int left, left_blocks = 0, left_bytes = 0;

	for (int i = 0; i < KEPT; i++) {
		if (!allocate(i)) {
			printf("no memory for block %d\n", i);
			return 1;
		}
	}
	for (int round = 0; round < ROUNDS; round++) {
		int i = KEPT + (int)draw(BLOCKS - KEPT);

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
	TELL_LEFT(left_blocks, left_bytes);
	return 0;
}

/*
 * The input: "large", "far", "twice" with the arguments of free_twice(), "again"
 * with those of again(), or another.
 */
int main(void)
{
	static char test[8];
	unsigned int size;
	int before, after, stay, given;

	given = scanf("%7s %u %d %d %d", test, &size, &before, &after, &stay);
	if (given == 5)
		return free_twice(size, before, after, stay);
	if (given == 3)
		return again(size, before);
	if (test[0] == 'f')
		return far_blocks();
	return test[0] == 'l' ? large_blocks() : many_blocks();
}
