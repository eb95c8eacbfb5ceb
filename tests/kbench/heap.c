#include <stdio.h>
#include <stdlib.h>

struct node {
	int key;
	struct node *left, *right;
};

static struct node *insert(struct node *tree, int key)
{
	if (!tree) {
		tree = calloc(1, sizeof(*tree));
		if (!tree)
			exit(9);
		tree->key = key;
	} else if (key < tree->key) {
		tree->left = insert(tree->left, key);
	} else {
		tree->right = insert(tree->right, key);
	}
	return tree;
}

static int walk(struct node *tree, int depth, int *sum)
{
	int left, right;

	if (!tree)
		return depth;
	left = walk(tree->left, depth + 1, sum);
	*sum = *sum * 7 + tree->key;
	right = walk(tree->right, depth + 1, sum);
	free(tree);
	return left > right ? left : right;
}

int main(void)
{
	struct node *tree = NULL;
	unsigned int x = 7;
	int sum = 0, depth;
	char *grown = malloc(1);

	for (int i = 0; i < 500; i++) {
		x = x * 1103515245 + 12345;
		tree = insert(tree, (int)(x >> 16));
		grown = realloc(grown, (size_t)i + 1);
		if (!grown)
			return 9;
		grown[i] = (char)i;
	}
	/* All blocks together exceed the heap, so free each at once. */
	for (int i = 0; i < 2000; i++) {
		char *block = malloc(100000);

		if (!block)
			return 8;
		block[99999] = (char)i;
		free(block);
	}
	depth = walk(tree, 0, &sum);
	printf("%d %d %d\n", depth, sum, grown[499]);
	free(grown);
	return 0;
}
