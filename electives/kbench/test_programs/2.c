#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A model of the heap: the program knows all blocks, and fills them. Sizes,
 * functions and orders are drawn. A block of an order has 2^order bytes, or
 * less, but more than half of it.
 */
#define LEAST_ORDER 4
#define MOST_ORDER 20 /* of a block of the history */
#define SLOTS 180
#define LARGE_SLOTS 168 /* the first slot of large blocks */
#define KEPT 4 /* slots that stay in use to the end */
#define ROUNDS 20000
#define LARGE 800
#define HEAP (32u << 20)
#define MOST (1 << 18)
#define FREED 4096
#define KINDS 4
#define EACH 2500 /* blocks of a kind */
#define FAILING 50 /* calls without memory */
#define FAILING_LARGER 300 /* calls while only smaller blocks are free */
#define MOST_FILLING 22 /* order of blocks that fill four fifths of the heap */
#define MOST_ORDER_ASKED 25 /* of a block that the heap may refuse */
#define CONTENDED 5000 /* small blocks in use while large ones are measured */
#define LARGE_BYTES \
	((1u << 24) - 64) /* of the largest block beside small ones */
#define LARGEST 6 /* large blocks, of 256 KB and more */
#define SLOWEST 200 /* instructions for each call of malloc and of free */
#define FOUND 4096 /* bytes of a freed block that a block in use gets */
#define RESIZED 32 /* the part of the memory that may be resized: one of 32 */

/* make elective=kbench check draws the seed. */
#define SEED 1

/*
 * In a process, where make elective=kbench check defines IN_PROCESS, the
 * program prints what it does not free: in the kernel, the heap must not find
 * these numbers in the output. A process has more memory than the kernel's
 * heap, does not find every second free, and need not be fast.
 */
#ifdef IN_PROCESS
#define TELL_LEFT(blocks, bytes) printf("left %u %u\n", blocks, bytes)
#define IN_KERNEL 0
#define NO_BLOCK (~0ull >> 1) /* bytes for which there is never memory */
#else
#define TELL_LEFT(blocks, bytes) ((void)(blocks), (void)(bytes))
#define IN_KERNEL 1
#define NO_BLOCK HEAP
#endif

struct block {
	unsigned char *at;
	unsigned int size, mark;
};

static struct block slots[SLOTS], freed[FREED];
static unsigned int frees;
static unsigned int seed = SEED;

static unsigned int draw(unsigned int below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Draw a number of 64 bits, with drawn numbers of zeros at both ends. */
static unsigned long long draw_wide(void)
{
	unsigned long long all = (unsigned long long)draw(1 << 24) << 40 |
				 (unsigned long long)draw(1 << 24) << 16 |
				 draw(1 << 16);

	return all >> draw(64) << draw(64);
}

/* Print a drawn number, so that the output shows how far the program came. */
static void tell(void)
{
	printf("%u\n", draw(1 << 24));
	fflush(stdout);
}

/* Return a size of an order; the least order has size 0, too, and order 0 only it. */
static unsigned int size_of(int order, unsigned int drawn)
{
	unsigned int half = 1u << order >> 1;

	if (!order)
		return 0;
	if (order == LEAST_ORDER)
		return drawn % (2 * half + 1);
	return half + 1 + drawn % half;
}

static int order_of(unsigned int size)
{
	int order = LEAST_ORDER;

	if (!size)
		return 0;
	while (1u << order < size)
		order++;
	return order;
}

/* The largest order of a slot: there are fewer slots for large blocks. */
static int order_of_slot(int i)
{
	if (i < 120)
		return LEAST_ORDER + i % 7;
	if (i < LARGE_SLOTS)
		return 11 + i % 6;
	return 17 + i % 4;
}

/*
 * The first bytes that a freed block had after free, and the address of the
 * block in use that has them now. The heap must not take them for a mark of its
 * own. Only in the kernel, because a process may have no memory there any more.
 */
static unsigned char found[FOUND];
static unsigned int found_size;
static unsigned char *holder;

static unsigned int least_of(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Draw 16 bytes by the mark of a block. */
static void content(const struct block *block, unsigned char *bytes)
{
	unsigned long long words[2];

	words[0] = (block->mark + 1ull) * 0x9e3779b97f4a7c15ull;
	words[1] = (words[0] ^ words[0] >> 29) * 0xbf58476d1ce4e5b9ull;
	memcpy(bytes, words, 16);
}

/* Fill both ends, and a byte of each KB. */
static void fill(const struct block *block)
{
	unsigned int first = least_of(block->size, 8);
	unsigned int last = block->size > 16 ? block->size - 8 : first;
	unsigned char bytes[16];

	content(block, bytes);
	for (unsigned int i = 1021; i < block->size; i += 1021)
		block->at[i] = bytes[i % 16];
	memcpy(block->at, bytes, first);
	memcpy(block->at + last, bytes + 8, block->size - last);
}

/* Return whether the first bytes of a block still have the fill of @block. */
static int whole(const struct block *block, unsigned int size)
{
	unsigned int first = least_of(block->size, 8);
	unsigned int last = block->size > 16 ? block->size - 8 : first;
	unsigned char bytes[16];

	size = least_of(size, block->size);
	if (block->at == holder)
		return !memcmp(block->at, found, least_of(size, found_size));
	content(block, bytes);
	for (unsigned int i = 1021; i < least_of(size, last); i += 1021)
		if (block->at[i] != bytes[i % 16])
			return 0;
	return !memcmp(block->at, bytes, least_of(size, first)) &&
	       (size <= last ||
		!memcmp(block->at + last, bytes + 8, size - last));
}

static void fail(const char *what, int round)
{
	printf("%s in round %d\n", what, round);
	exit(1);
}

static unsigned long lowest = ~0ul, highest;

/*
 * Check the address of a block: it is aligned for each type that fits in the
 * block, and all blocks are in the memory of the heap. Return the address.
 */
static unsigned char *checked(void *memory, unsigned int size)
{
	unsigned long at = (unsigned long)memory, align = 16;

	if (!memory)
		return NULL;
	while (align > size && align > 1)
		align /= 2;
	if (at % align)
		fail("a block is misaligned", 0);
	if (at < lowest)
		lowest = at;
	if (at + size > highest)
		highest = at + size;
	if (IN_KERNEL && highest - lowest > HEAP)
		fail("a block is not in the heap", 0);
	return memory;
}

/* Allocate by one of the three functions. Return NULL without memory. */
static unsigned char *obtain(unsigned int size)
{
	unsigned int how = draw(8);
	unsigned char *at;

	if (how > 1)
		return checked(malloc(size), size);
	if (how)
		return checked(realloc(NULL, size), size);
	at = checked(draw(2) ? calloc(1, size) : calloc(size, 1), size);
	for (unsigned int i = 0; at && i < size; i += size < 64 ? 1 : 61) {
		if (at[i]) {
			printf("calloc does not clear byte %u\n", i);
			exit(1);
		}
	}
	return at;
}

/* All frees are here, so the heap cannot tell them apart by their caller. */
static void give_back(void *memory)
{
	free(memory);
}

static void note(unsigned char *at, unsigned int size)
{
	freed[frees % FREED].at = at;
	freed[frees % FREED].size = size;
	frees++;
}

static void allocate(struct block *block, int order, int round)
{
	block->size = size_of(order, draw(1 << 24));
	block->mark = draw(1 << 24);
	block->at = obtain(block->size);
	if (!block->at)
		fail("no memory", round);
	fill(block);
	if (found_size && !holder &&
	    order_of(block->size) == order_of(found_size)) {
		found_size = least_of(found_size, block->size);
		memcpy(block->at, found, found_size);
		holder = block->at;
	}
}

static void release(struct block *block, int round)
{
	if (!whole(block, block->size))
		fail("a block is overwritten", round);
	note(block->at, block->size);
	give_back(block->at);
	if (block->at == holder) {
		holder = NULL;
		found_size = 0;
	}
	if (IN_KERNEL && !holder && block->size && block->size <= FOUND) {
		found_size = block->size;
		memcpy(found, block->at, found_size);
	}
	block->at = NULL;
}

static void resize(struct block *block, int order, int round)
{
	struct block before = *block;
	unsigned int size = size_of(order, draw(1 << 24));

	if (!size)
		size = 1;
	block->at = checked(realloc(before.at, size), size);
	if (!block->at)
		fail("no memory", round);
	if (block->at != before.at)
		note(before.at, before.size);
	if (before.at == holder)
		holder = block->at;
	before.at = block->at;
	if (!whole(&before, size))
		fail("realloc does not keep the content", round);
	if (block->at == holder) {
		holder = NULL;
		found_size = 0;
	}
	block->size = size;
	fill(block);
}

/* The compiler must not remove an allocation that the program does not use. */
static void *volatile too_large;

/*
 * Try to allocate more bytes than there are. If realloc fails, its block stays
 * as it was; history() checks this.
 */
static void refused(int round)
{
	unsigned long long count = draw_wide(), size = draw_wide();
	unsigned int how = draw(3), kept = draw(KEPT);

	if (!how && size && count > NO_BLOCK / size)
		too_large = calloc(count, size);
	else if (how == 1 && size > NO_BLOCK)
		too_large = malloc(size);
	else if (how == 2 && size > NO_BLOCK)
		too_large = realloc(slots[kept].at, size);
	if (too_large)
		fail("memory for more bytes than there are", round);
}

/* The slots that the history uses; the last ones have the largest blocks. */
static unsigned int used_slots = SLOTS;

/* Do one step of the history. */
static void step(int round)
{
	int i = KEPT + (int)draw(used_slots - KEPT);
	int order =
		LEAST_ORDER +
		(int)draw((unsigned int)(order_of_slot(i) - LEAST_ORDER + 1));

	if (!slots[i].at)
		allocate(&slots[i], order, round);
	else if (draw(4))
		release(&slots[i], round);
	else
		resize(&slots[i], order, round);
}

static void tell_left(void)
{
	unsigned int blocks = 0, bytes = 0;

	for (int i = 0; i < SLOTS; i++) {
		blocks += slots[i].at != NULL;
		bytes += slots[i].at ? slots[i].size : 0;
	}
	TELL_LEFT(blocks, bytes);
	fflush(stdout);
}

/*
 * Allocate and free about 300 MB in total, but at most 12 MB at a time, and
 * leave some blocks allocated at the end.
 */
static int history(void)
{
	unsigned int left;

	for (int i = 0; i < KEPT; i++)
		allocate(&slots[i], order_of_slot(i), 0);
	for (int round = 0; round < ROUNDS; round++) {
		step(round);
		if (round % 64 == 0)
			refused(round);
	}
	left = draw(SLOTS / 2);
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i].at && (unsigned int)i >= left)
			release(&slots[i], ROUNDS);
		else if (slots[i].at && !whole(&slots[i], slots[i].size))
			fail("a block is overwritten", ROUNDS);
	}
	tell();
	tell_left();
	return 0;
}

/* Return whether a block in use has a byte of a freed block or its header. */
static int in_use(const struct block *block)
{
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].at && slots[i].at < block->at + block->size + 1 &&
		    slots[i].at + slots[i].size + 16 > block->at)
			return 1;
	return 0;
}

/*
 * Free a block twice, which must end the program. The block has an order from
 * @low to @high, is freed at a drawn point of a history, and is not in use
 * again. @earlier blocks are freed before the history.
 */
static int free_twice(int low, int high, int rounds, int earlier)
{
	struct block extra;
	int middle = (int)draw((unsigned int)rounds);
	unsigned int from;
	int order;

	/* The block of an order above those of the history. */
	order = low + (int)draw((unsigned int)(high - low + 1));
	if (order > 23)
		used_slots = LARGE_SLOTS;
	allocate(&extra, order, 0);
	for (int i = 0; i < earlier; i++)
		give_back(obtain(draw(64)));
	for (int round = 0; round < rounds; round++) {
		step(round);
		if (round == middle)
			release(&extra, round);
	}
	for (int i = 0; i < SLOTS; i++)
		if (slots[i].at && draw(4))
			release(&slots[i], rounds);
	rounds = (int)draw(30);
	for (int round = 0; round < rounds; round++)
		step(round);
	tell();
	tell_left();
	if (!IN_KERNEL)
		abort();
	/* The memory of a block of 0 bytes may be freed again with another size. */
	from = !low ? 0 : frees < FREED ? frees : FREED;
	for (unsigned int n = from, i = from ? draw(from) : 0; n > 0;
	     n--, i++) {
		const struct block *block = &freed[i % from];

		order = order_of(block->size);
		if (order >= low && order <= high && !in_use(block)) {
			give_back(block->at);
			printf("a block of %u bytes is freed twice\n",
			       block->size);
			return 1;
		}
	}
	allocate(&extra, low, 0);
	release(&extra, 0);
	give_back(freed[(frees - 1) % FREED].at);
	printf("a block of up to %u bytes is freed twice at once\n", 1u << low);
	return 1;
}

static unsigned long long began;

static void begin(void)
{
	began = __builtin_readcyclecounter();
}

/* Print if the calls since begin() took too long. Machine qemu counts exactly. */
static void end(const char *what, int calls)
{
	unsigned long long each_call =
		(__builtin_readcyclecounter() - began) / (unsigned int)calls;

	if (IN_KERNEL && each_call > SLOWEST) {
		printf("malloc and free take %llu instructions for each call, %s\n",
		       each_call, what);
		exit(1);
	}
}

static unsigned char *held[MOST];

static unsigned int drawn_by(int i, unsigned int base)
{
	return ((unsigned int)i * 2654435761u ^ base) >> 6;
}

/*
 * From order 9 on, a block has at most 2^order - 32 bytes: no heap needs more
 * than 2^order bytes for it and its header.
 */
static struct block held_block(int i, int order, unsigned int base)
{
	struct block block = { held[i], size_of(order, drawn_by(i, base)),
			       drawn_by(i, base) };

	if (order >= 9 && block.size > (1u << order) - 32)
		block.size = (1u << order) - 32;
	return block;
}

/* The bytes that resized() may still allocate, and whether it has made a block smaller. */
static unsigned int resizable;
static int made_smaller;

/*
 * Allocate a block of another size, and let realloc change its size to @size.
 * Return NULL without memory. realloc may leave a block in its place, so
 * only a small part of the memory is for such blocks.
 */
static unsigned char *resized(unsigned int size)
{
	unsigned int order = LEAST_ORDER + draw(MOST_ORDER - LEAST_ORDER + 1);
	struct block block = { NULL, size_of((int)order, draw(1 << 24)),
			       draw(1 << 24) };
	unsigned char *at;

	if (!size || block.size > resizable)
		return NULL;
	block.at = checked(malloc(block.size), block.size);
	if (!block.at)
		return NULL;
	fill(&block);
	at = checked(realloc(block.at, size), size);
	if (!at) {
		give_back(block.at);
		return NULL;
	}
	block.at = at;
	if (!whole(&block, size))
		fail("realloc does not keep the content", 1);
	resizable -= block.size;
	made_smaller |= block.size > size;
	return at;
}

static int take(int i, int order, unsigned int base)
{
	struct block block = held_block(i, order, base);

	if (resizable && !draw(4))
		block.at = resized(block.size);
	if (!block.at)
		block.at = obtain(block.size);
	held[i] = block.at;
	if (!block.at)
		return 0;
	fill(&block);
	return 1;
}

static void drop(int i, int order, unsigned int base, int round)
{
	struct block block = held_block(i, order, base);

	if (!whole(&block, block.size))
		fail("a block is overwritten", round);
	give_back(block.at);
	held[i] = NULL;
}

/*
 * Ask for memory by each function while the @count blocks of an order fill the
 * heap. If realloc fails, its block stays as it was; drop() checks this.
 */
static void ask_in_vain(int order, int count)
{
	for (int i = 0; i < FAILING / 2 && IN_KERNEL; i++) {
		void *larger = obtain(1u << order);

		give_back(larger);
		if (larger && !made_smaller)
			fail("memory for a larger block than the last one", 1);
		too_large = realloc(held[draw((unsigned int)count)],
				    HEAP - draw(1 << 20));
		if (too_large)
			fail("memory for more bytes than there are", 1);
	}
}

/*
 * Ask for blocks above an order, of which @free blocks are free. The heap may
 * join them, which may take as long as to free them once more.
 */
static void ask_for_larger(int order, int free)
{
	static unsigned int sizes[FAILING_LARGER];
	unsigned int above = (unsigned int)(MOST_ORDER_ASKED - order);

	for (int i = 0; i < FAILING_LARGER; i++)
		sizes[i] = size_of(order + 1 + (int)draw(above), draw(1 << 24));
	begin();
	for (int i = 0; i < FAILING_LARGER && IN_KERNEL; i++)
		give_back(checked(malloc(sizes[i]), sizes[i]));
	end("while only smaller blocks are free", FAILING_LARGER + free);
}

/*
 * Free a large block, and let realloc move the block with the highest address
 * to its place. No memory follows the heap, so realloc must not read behind
 * this block.
 */
static void enlarge_last(int order, unsigned int base, int count, void *large)
{
	struct block block;
	unsigned char *at;
	int last = 0;

	for (int i = 1; i < count; i++)
		if (held[i] > held[last])
			last = i;
	block = held_block(last, order, base);
	give_back(large);
	at = checked(realloc(block.at, LARGE_BYTES), LARGE_BYTES);
	if (at)
		block.at = at;
	if (!whole(&block, block.size))
		fail("realloc does not keep the content", 2);
	give_back(block.at);
	held[last] = NULL;
}

/*
 * Allocate blocks of one order until the memory is full, free most of them in a
 * drawn order, and allocate as many again. There is no other memory, so free
 * must keep each of them, for its last size. If a block was made smaller, a
 * larger one may be free although there is no memory for smaller ones.
 */
static int again(int order)
{
	unsigned int base = draw(1 << 24), room = HEAP / ((1u << order) + 16);
	unsigned int later = draw(1 << 24); /* count differs in a process */
	unsigned int filling;
	int count = 0, dropped = 0, stride, keep = 3 + (int)draw(9);
	int enough;
	void *large[3] = { NULL };

	/* Small blocks would take long to fill the memory, so leave them 4 MB. */
	for (int i = 0; i < 3 && order < 9; i++) {
		large[i] = malloc(i ? (1u << (24 - i)) - 64 : LARGE_BYTES);
		if (!large[i])
			fail("no memory for a large block", 0);
		room = (4u << 20) / ((1u << order) + 16);
	}
	resizable = (order < 9 ? 4u << 20 : HEAP) / RESIZED;
	while (count < MOST && take(count, order, base)) {
		count++;
		if (!IN_KERNEL && (unsigned int)count >= room)
			break;
	}
	resizable = 0;
	begin();
	for (int i = 0; i < FAILING && IN_KERNEL; i++) {
		void *more = malloc(1u << order);

		give_back(more);
		if (more && !made_smaller)
			fail("memory for a larger block than the last one", 1);
	}
	end("when there is no memory", FAILING);
	/* A block that was resized may take twice as much as at first. */
	room -= room * 2 / RESIZED;
	filling = (HEAP - HEAP * 2 / RESIZED) >> order;
	enough = order < 9	       ? count >= (int)(room * 2 / 5) :
		 order <= MOST_FILLING ? count * 5 >= (int)filling * 4 :
					 count > 0;
	if (count == MOST || !enough) {
		printf("memory for %d blocks of up to %u bytes\n", count,
		       1u << order);
		return 1;
	}
	ask_in_vain(order, count);
	for (int i = 0; i < 5; i++) {
		int one = (int)draw((unsigned int)count);

		drop(one, order, base, 1);
		if (!take(one, order, base))
			fail("no memory for the block that was freed", 1);
	}
	/* A prime that does not divide count: each block has its turn. */
	stride = count % 7919 ? 7919 : 104729;
	for (long long i = 0, n = draw((unsigned int)count); i < count; i++) {
		n = (n + stride) % count;
		if (n % keep) {
			drop((int)n, order, base, 1);
			dropped++;
		}
	}
	ask_for_larger(order, dropped);
	for (int i = 0; i < count; i++) {
		if (!held[i] && !take(i, order, base)) {
			printf("no memory for block %d in round 2\n", i);
			return 1;
		}
	}
	if (large[0])
		enlarge_last(order, base, count, large[0]);
	for (int i = 0; i < count; i++)
		if (held[i])
			drop(i, order, base, 2);
	for (int i = 1; i < 3; i++)
		give_back(large[i]);
	seed = later;
	tell();
	return 0;
}

/* A small block, which points to the block that was allocated before. */
struct link {
	struct link *before;
};

#define CHAINS 16 /* as many as the upper 4 bits of a number select */

static struct link *chains[CHAINS];

/* Allocate blocks until there is no memory, or @most blocks. */
static unsigned int chain(unsigned int size, unsigned int most)
{
	/* draw() would go on differently in a process, which has fewer blocks. */
	static unsigned int drawn = SEED;
	unsigned int count = 0;

	memset(chains, 0, sizeof(chains));
	while (count < most) {
		struct link *block = malloc(size), **last;

		if (!block)
			break;
		drawn = drawn * 1664525 + 1013904223;
		last = &chains[drawn >> 28];
		block->before = *last;
		*last = block;
		count++;
	}
	return count;
}

/* Free the blocks of all chains. Return their number, or more than @most. */
static unsigned int free_chains(unsigned int most)
{
	unsigned int count = 0;

	for (int i = 0; i < CHAINS; i++)
		while (chains[i] && count <= most) {
			struct link *before = chains[i]->before;

			give_back(chains[i]);
			chains[i] = before;
			count++;
		}
	return count;
}

/*
 * Fill all of the heap with blocks of the least order, free all, and fill it
 * again. There are as many blocks as the heap can have. Each belongs to a drawn
 * chain, and one chain is freed after the other.
 */
static int full(void)
{
	unsigned int size = 8 + draw(9);
	unsigned int most = IN_KERNEL ? HEAP / size : 1000;
	unsigned int least = IN_KERNEL ? HEAP / 80 : most;
	unsigned int count = chain(size, most);

	for (int round = 1; round <= 2; round++) {
		if (count < least) {
			printf("memory for %u blocks of %u bytes in round %d\n",
			       count, size, round);
			return 1;
		}
		if (free_chains(count) != count)
			fail("a block is overwritten", round);
		least = count;
		if (round == 1)
			count = chain(size, most);
	}
	tell();
	return 0;
}

/*
 * Ask for blocks of more than 16 MB, which the heap may refuse. A block that it
 * returns must not be in use.
 */
static void ask_for_largest(void)
{
	for (int i = 0; i < 3; i++)
		allocate(&slots[i], 12 + i, LARGE);
	for (int i = 0; i < FAILING; i++) {
		unsigned int size = size_of(MOST_ORDER_ASKED, draw(1 << 24));
		unsigned char *at = checked(malloc(size), size);

		if (at) {
			at[0] = 1;
			at[size - 1] = 2;
			give_back(at);
		}
	}
	for (int i = 0; i < 3; i++)
		release(&slots[i], LARGE);
}

/*
 * Allocate blocks of 2 KB to 16 MB, one at a time, about 1.5 GB in total.
 * The kernel's heap of 32 MB holds only one block of each power of two, so an
 * allocation fails soon after a block was lost.
 */
static int large_blocks(void)
{
	for (int round = 0; round < LARGE; round++) {
		unsigned int size = size_of(12 + (int)draw(13), draw(1 << 24));
		unsigned char *block = checked(malloc(size), size);

		if (!block) {
			printf("no memory for a block of up to 16 MB\n");
			return 1;
		}
		block[0] = 1;
		block[size - 1] = 2;
		give_back(block);
	}
	ask_for_largest();
	tell();
	return 0;
}

static void *far[KINDS * EACH];
static int turns[KINDS * EACH];
static unsigned int far_sizes[KINDS * EACH];
static void *more[EACH];
static unsigned int more_sizes[EACH];
static int orders[KINDS], each;

static void draw_sizes(int other)
{
	for (int i = 0; i < KINDS * each; i++)
		far_sizes[i] = size_of(orders[i / each], draw(1 << 24));
	for (int i = 0; i < each; i++)
		more_sizes[i] = size_of(other, draw(1 << 24));
}

static void far_take(int i)
{
	far[i] = malloc(far_sizes[i]);
	if (!far[i])
		fail("no memory for a block", i);
}

/* Draw an order in which the blocks have their turn. */
static void mix(void)
{
	for (int i = 0; i < KINDS * each; i++) {
		int j = (int)draw((unsigned int)i + 1);

		turns[i] = turns[j];
		turns[j] = i;
	}
}

/* Set the turns: one block of each kind after the other. */
static void alternate(void)
{
	for (int i = 0; i < KINDS * each; i++)
		turns[i] = i % KINDS * each + i / KINDS;
}

/* Set the turns: kind by kind, from the last kind or from the first. */
static void by_kind(int last)
{
	for (int i = 0; i < KINDS * each; i++)
		turns[i] = last ? KINDS * each - 1 - i : i;
}

static void take_all(void)
{
	for (int i = 0; i < KINDS * each; i++)
		far_take(turns[i]);
}

static void give_all(void)
{
	for (int i = 0; i < KINDS * each; i++)
		give_back(far[turns[i]]);
}

/*
 * Free all blocks and allocate them again. @other: an order of which no block
 * is free, or 0.
 */
static void speed_of(int other)
{
	static const char *const names[] = {
		"freed in a drawn order, allocated kind by kind",
		"freed in a drawn order, allocated in turn",
		"freed kind by kind, allocated kind by kind",
		"freed kind by kind, allocated from the last kind",
	};
	int all = KINDS * each;

	draw_sizes(other);
	alternate();
	take_all();
	for (int round = 0; round < 4; round++) {
		if (round < 2)
			mix();
		else
			by_kind(0);
		begin();
		give_all();
		if (round == 0 && other) {
			end("freed in a drawn order", all);
			begin();
			for (int i = 0; i < each; i++)
				more[i] = malloc(more_sizes[i]);
			end("while blocks of other sizes are free", each);
			for (int i = 0; i < each; i++)
				give_back(more[i]);
			begin();
		}
		end(names[round], all);
		if (round == 1)
			alternate();
		else
			by_kind(round == 3);
		begin();
		take_all();
		end(names[round], all);
	}
	begin();
	for (int round = 0; round < 300; round++) {
		int from[4];

		for (int i = 0; i < 4; i++) {
			from[i] = (int)draw((unsigned int)each) +
				  (round + i / 2) % KINDS * each;
			give_back(far[from[i]]);
			far[from[i]] = NULL;
			if (i && from[i] == from[i - 1])
				from[i] = -1;
		}
		for (int i = 0; i < 4; i++)
			if (from[i] >= 0)
				far_take(from[i]);
	}
	end("while most blocks are in use", 2400);
	mix();
	give_all();
}

/*
 * Measure malloc and free while blocks of four sizes are free, first of up to 1
 * KB, and then of 2 KB to 16 KB.
 */
static int speed(void)
{
	int all[7] = { 4, 5, 6, 7, 8, 9, 10 };

	for (int i = 0; i < 7; i++) {
		int j = (int)draw((unsigned int)i + 1), order = all[i];

		all[i] = all[j];
		all[j] = order;
	}
	each = EACH;
	for (int i = 0; i < KINDS; i++)
		orders[i] = all[i];
	speed_of(all[KINDS]);
	each = EACH / 5;
	for (int i = 0; i < KINDS; i++)
		orders[i] = i < 2 ? 12 - i : 16 - i;
	speed_of(0);
	tell();
	return 0;
}

/* Measure malloc and free of large blocks while many others are in use. */
static void speed_of_largest(void)
{
	unsigned int base = draw(1 << 24);

	for (int i = 0; i < CONTENDED; i++)
		if (!take(i, LEAST_ORDER, base))
			fail("no memory for a block", i);
	for (int i = 0; i < LARGEST; i++)
		more_sizes[i] = size_of(18 + i, draw(1 << 24));
	take_all();
	for (int round = 0; round < 2; round++) {
		begin();
		for (int i = 0; i < LARGEST; i++)
			more[i] = malloc(more_sizes[i]);
		for (int i = 0; i < LARGEST; i++)
			give_back(more[i]);
		end("for large blocks", 2 * LARGEST);
	}
	give_all();
	for (int i = 0; i < CONTENDED; i++)
		drop(i, LEAST_ORDER, base, 2);
}

/*
 * Measure malloc and free while blocks of up to 128 KB fill half of the memory,
 * and then of larger blocks.
 */
static int long_speed(void)
{
	each = EACH / 40;
	for (int i = 0; i < KINDS; i++)
		orders[i] = 17 - i;
	speed_of(0);
	speed_of_largest();
	tell();
	return 0;
}

/*
 * The input: "large", "speed", "long", "full", "twice" with the arguments of
 * free_twice(), "again" with that of again(), or another.
 */
int main(void)
{
	static char test[8];
	int low, high, rounds, earlier, given;

	given = scanf("%7s %d %d %d %d", test, &low, &high, &rounds, &earlier);
	if (given == 5)
		return free_twice(low, high, rounds, earlier);
	if (given == 2)
		return again(low);
	if (test[0] == 's')
		return speed();
	if (test[0] == 'f')
		return full();
	if (test[0] == 'l')
		return test[1] == 'o' ? long_speed() : large_blocks();
	return history();
}
