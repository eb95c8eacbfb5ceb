#include <stdio.h>
#include <string.h>

/* A call of scanf stores at most this many numbers. */
#define NUMBERS 32

/* make elective=kbench check draws the seed. */
#define SEED 1

/*
 * The memory for the numbers, with drawn bytes in and around it. A call may
 * change only the bytes of the numbers that it stores.
 */
struct number {
	unsigned char stored[8], between[8];
};

static struct number numbers[NUMBERS + 1], before[NUMBERS + 1];

static void draw_bytes(void)
{
	static unsigned int seed = SEED;
	unsigned char *bytes = (unsigned char *)numbers;

	for (unsigned int i = 0; i < sizeof(numbers); i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(seed >> 24);
	}
	memcpy(before, numbers, sizeof(before));
}

/* Read by a format, which has at most NUMBERS conversions. */
static int read_by(const char *format)
{
	void *to[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		to[i] = numbers[i + 1].stored;
	return scanf(format, to[0], to[1], to[2], to[3], to[4], to[5], to[6],
		     to[7], to[8], to[9], to[10], to[11], to[12], to[13],
		     to[14], to[15], to[16], to[17], to[18], to[19], to[20],
		     to[21], to[22], to[23], to[24], to[25], to[26], to[27],
		     to[28], to[29], to[30], to[31]);
}

/*
 * Print each number that has changed, with the number of its bytes, and all
 * changes of the memory between the numbers.
 */
static void print_changes(void)
{
	for (int i = 0; i <= NUMBERS; i++) {
		unsigned long long value = 0;
		int size = 8, bits;

		while (size && numbers[i].stored[size - 1] ==
				       before[i].stored[size - 1])
			size--;
		if (size > 2)
			size = size > 4 ? 8 : 4;
		memcpy(&value, numbers[i].stored, (size_t)size);
		bits = 64 - 8 * size;
		if (size)
			printf("%lld in %d bytes, ",
			       (long long)(value << bits) >> bits, size);
		if (memcmp(numbers[i].between, before[i].between, 8))
			printf("bytes behind it change, ");
	}
}

/*
 * Read decimal numbers to the end. Print their count, a sum of products, and what
 * scanf returns at the end.
 */
static void all_numbers(void)
{
	unsigned long long sum = 0;
	long long x;
	int count = 0, found;

	while ((found = scanf("%lld", &x)) == 1) {
		sum = sum * 31 + (unsigned long long)x;
		count++;
	}
	printf("%d numbers, %llu, then %d\n", count, sum, found);
}

/*
 * Each input line has a format, text to read by this format, and more text.
 * Print what scanf returns, the numbers that it stores, and the number of bytes
 * that it leaves. In the format, "_" stands for white space.
 * At the end of the input, read by the last format once more. The line "all"
 * precedes decimal numbers without a format.
 */
int main(void)
{
	static char format[256];

	while (scanf("%255s", format) == 1) {
		int left = 0, byte, found;

		if (format[0] == 'a' && format[1] == 'l') {
			all_numbers();
			return 0;
		}
		for (char *f = format; *f; f++)
			if (*f == '_')
				*f = ' ';
		draw_bytes();
		found = read_by(format);
		while ((byte = getchar()) >= 0 && byte != '\n')
			left++;
		printf("%d: ", found);
		print_changes();
		printf("%d bytes left by %s\n", left, format);
	}
	printf("%d at the end\n", read_by(format));
	return 0;
}
