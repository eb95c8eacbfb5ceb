// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Test that a process keeps its vector registers and its rounding mode while it
 * reads from the device. Usage: vector_registers N ROUNDS.
 *
 * No library function may be called between loading and storing the registers,
 * because it may change them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REGISTERS 16

struct registers {
	unsigned long part[REGISTERS][4];
} __attribute__((aligned(32)));

#define LOAD(n) "vmovdqa " #n "*32(%[before]), %%ymm" #n "\n\t"
#define STORE(n) "vmovdqa %%ymm" #n ", " #n "*32(%[after])\n\t"
#define ALL(move)                                                            \
	move(0) move(1) move(2) move(3) move(4) move(5) move(6) move(7)      \
		move(8) move(9) move(10) move(11) move(12) move(13) move(14) \
			move(15)

static long read_with(const struct registers *before, struct registers *after,
		      int fd, char *text, size_t size, long n)
{
	register long offset asm("r10") = n;
	long result = SYS_pread64;

	asm volatile(ALL(LOAD) "syscall\n\t" ALL(STORE) "vzeroupper"
		     : "+a"(result)
		     : "D"((long)fd), "S"(text), "d"(size),
		       "r"(offset), [before] "r"(before), [after] "r"(after)
		     : "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3",
		       "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
		       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	return result;
}

int main(int argc, char **argv)
{
	long n = strtol(argv[1], NULL, 10), rounds = strtol(argv[2], NULL, 10);
	size_t size = n / 4 + 32;
	static struct registers before, after;
	const unsigned int upwards = 0x1f80 | 2 << 13;
	unsigned int mxcsr;
	char *text = malloc(size);
	int fd = open("/dev/fibonacci", O_RDONLY);

	if (argc != 3 || fd < 0 || !text) {
		puts("cannot begin");
		return 2;
	}
	asm volatile("ldmxcsr %0" : : "m"(upwards));
	for (long round = 0; round < rounds; round++) {
		for (int i = 0; i < REGISTERS; i++)
			for (int j = 0; j < 4; j++)
				before.part[i][j] =
					(getpid() * 1000003UL + round) *
					(0x9e3779b97f4a7c15UL + 4 * i + j);
		memset(&after, 0, sizeof(after));
		if (read_with(&before, &after, fd, text, size, n - round % 2) <=
		    0) {
			puts("read() fails");
			return 1;
		}
		asm volatile("stmxcsr %0" : "=m"(mxcsr));
		if (memcmp(&before, &after, sizeof(before)) ||
		    (mxcsr & ~0x3f) != upwards) {
			printf("changed in round %ld\n", round);
			return 1;
		}
	}
	puts("kept");
	return 0;
}
