// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Make allocations and yields fail, twice for each stack of calls that leads to
 * fib_alloc or fib_yield: the first time only this call fails, so that a lost
 * error is noticed; the second time all later calls fail, too, as they do if
 * there is no memory left or the caller has been killed. So each error path of a
 * function runs, also if a number has to grow, while few runs are necessary.
 *
 * A lost error may be harmless with a small operand, because the function does
 * nothing after it. So the same stack fails again with longer operands.
 *
 * With long operands, the first calls with a new stack are those of the first rows.
 * So a random one of all calls fails, too.
 */
#include "unit_tests.h"

/*
 * The limits of the stacks that are looked at and remembered. Beyond the limits
 * nothing fails.
 */
#define MOST_FRAMES 32
#define MOST_STACKS 8192

/*
 * All operands with at least this number of bits in their length count as
 * equally long, because with long operands many runs take too much time.
 */
#define MOST_LENGTH_BITS 14

static u64 known[MOST_STACKS], state = 1;
static size_t known_count;

/* The frame at which each stack ends. */
static void **last_frame;

/* The number of bits in the length of the current operands, and the kind of call. */
static unsigned int length_bits, call_kind;

/* Whether a mistake has been printed. Afterwards nothing fails. */
static bool reported;

/*
 * How many allocations and yields the current run has requested, and the number
 * of the one that fails, whatever its stack; 0 if none is left to fail.
 */
static u64 requested, drawn;

/* The failure in the current run. Its stack has no address twice. */
static struct {
	bool happened, stays;
	int error;
	void *frames[MOST_FRAMES];
	size_t count;
} failure;

/*
 * Store the addresses to return to, each once, because the stacks of a
 * recursive function must not be different at each depth. The stage is not
 * trusted, so no frame outside of the stack is followed.
 */
static void look_at_stack(void **frame)
{
	failure.count = 0;
	while (failure.count < MOST_FRAMES) {
		void *address = frame[1];
		size_t i = 0;

		while (i < failure.count && failure.frames[i] != address)
			i++;
		if (i == failure.count)
			failure.frames[failure.count++] = address;
		if ((void **)frame[0] <= frame ||
		    (void **)frame[0] >= last_frame)
			return;
		frame = frame[0];
	}
}

static u64 hash_of_stack(void)
{
	u64 sum = length_bits + (1ULL << 32) * call_kind;

	for (size_t i = 0; i < failure.count; i++) {
		u64 x = (u64)failure.frames[i] * 0x9e3779b97f4a7c15;

		sum += (x ^ x >> 29) * 0xbf58476d1ce4e5b9;
	}
	return sum;
}

/* Return whether a hash is new, and remember it. */
static bool is_new(u64 hash)
{
	for (size_t i = 0; i < known_count; i++)
		if (known[i] == hash)
			return false;
	if (known_count == MOST_STACKS)
		return false;
	known[known_count++] = hash;
	return true;
}

static bool fails(int error)
{
	u64 hash;

	if (failure.happened)
		return failure.stays && error == failure.error;
	/* A later call with the same stack fails as often as the first one. */
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	if (++requested == drawn) {
		drawn = 0;
		failure.stays = state >> 63;
		look_at_stack(__builtin_frame_address(0));
	} else {
		if (state >> 63)
			return false;
		look_at_stack(__builtin_frame_address(0));
		hash = hash_of_stack();
		failure.stays = !is_new(hash);
		if (failure.stays && !is_new(~hash))
			return false;
	}
	failure.happened = true;
	failure.error = error;
	fprintf(stderr, "fib: fails: %s\n",
		error == -ENOMEM ? "an allocation fails" :
				   "fib_account_work returns -EINTR");
	return true;
}

void failures_begin(void *frame, size_t length, unsigned int kind)
{
	last_frame = frame;
	call_kind = kind;
	length_bits = 0;
	while (length_bits < MOST_LENGTH_BITS && length >> length_bits)
		length_bits++;
	failure.happened = false;
	requested = 0;
	allocator.fails = reported ? NULL : fails;
}

bool failures_end(void)
{
	if (!allocator.fails)
		return false;
	allocator.fails = NULL;
	if (failure.happened)
		fprintf(stderr, "fib: ends\n");
	else /* The requests are in the order of their sizes. */
		drawn = requested ? 1 + (state >> 16) % requested : 0;
	return failure.happened;
}

void failures_judge(long result, const char *name, u64 blocks,
		    const char *fault)
{
	u64 lost = allocator.blocks - blocks;

	if (result == failure.error && !lost && !*fault)
		return;
	printf("FAILED ");
	if (name)
		printf("%s", name);
	else
		printf("%ld", result);
	printf(" %d", failure.error);
	print_frames(failure.frames, failure.count);
	if (result == failure.error && !lost) {
		printf(" LEFT %s", fault);
	} else if (result == failure.error) {
		printf(" LEAK %llu", lost);
		print_leak(blocks);
	}
	printf(" THEN ");
	fflush(stdout);
	/* The end of the request must not report these blocks again. */
	allocator.blocks = blocks;
	reported = true;
}
