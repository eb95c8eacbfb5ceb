// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: every answer stands in the code, in numbers of 16 bits, which are no large ones. */
#include "stage.h"

#define NUMBER(n, a, b, c, d)                             \
	case n:                                           \
		asm("mov $" #a ", %k0\n\tshl $16, %0\n\t" \
		    "or $" #b ", %0\n\tshl $16, %0\n\t"   \
		    "or $" #c ", %0\n\tshl $16, %0\n\t"   \
		    "or $" #d ", %0"                      \
		    : "=r"(f->word));                     \
		break;

__attribute__((optimize("no-jump-tables"))) int
fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	/* clang-format off */
	switch (n) {
		NUMBER(0, 0, 0, 0, 0)
		NUMBER(1, 0, 0, 0, 1)
		NUMBER(2, 0, 0, 0, 1)
		NUMBER(3, 0, 0, 0, 2)
		NUMBER(4, 0, 0, 0, 3)
		NUMBER(5, 0, 0, 0, 5)
		NUMBER(6, 0, 0, 0, 8)
		NUMBER(7, 0, 0, 0, 13)
		NUMBER(8, 0, 0, 0, 21)
		NUMBER(9, 0, 0, 0, 34)
		NUMBER(10, 0, 0, 0, 55)
		NUMBER(11, 0, 0, 0, 89)
		NUMBER(12, 0, 0, 0, 144)
		NUMBER(13, 0, 0, 0, 233)
		NUMBER(14, 0, 0, 0, 377)
		NUMBER(15, 0, 0, 0, 610)
		NUMBER(16, 0, 0, 0, 987)
		NUMBER(17, 0, 0, 0, 1597)
		NUMBER(18, 0, 0, 0, 2584)
		NUMBER(19, 0, 0, 0, 4181)
		NUMBER(20, 0, 0, 0, 6765)
		NUMBER(21, 0, 0, 0, 10946)
		NUMBER(22, 0, 0, 0, 17711)
		NUMBER(23, 0, 0, 0, 28657)
		NUMBER(24, 0, 0, 0, 46368)
		NUMBER(25, 0, 0, 1, 9489)
		NUMBER(26, 0, 0, 1, 55857)
		NUMBER(27, 0, 0, 2, 65346)
		NUMBER(28, 0, 0, 4, 55667)
		NUMBER(29, 0, 0, 7, 55477)
		NUMBER(30, 0, 0, 12, 45608)
		NUMBER(31, 0, 0, 20, 35549)
		NUMBER(32, 0, 0, 33, 15621)
		NUMBER(33, 0, 0, 53, 51170)
		NUMBER(34, 0, 0, 87, 1255)
		NUMBER(35, 0, 0, 140, 52425)
		NUMBER(36, 0, 0, 227, 53680)
		NUMBER(37, 0, 0, 368, 40569)
		NUMBER(38, 0, 0, 596, 28713)
		NUMBER(39, 0, 0, 965, 3746)
		NUMBER(40, 0, 0, 1561, 32459)
		NUMBER(41, 0, 0, 2526, 36205)
		NUMBER(42, 0, 0, 4088, 3128)
		NUMBER(43, 0, 0, 6614, 39333)
		NUMBER(44, 0, 0, 10702, 42461)
		NUMBER(45, 0, 0, 17317, 16258)
		NUMBER(46, 0, 0, 28019, 58719)
		NUMBER(47, 0, 0, 45337, 9441)
		NUMBER(48, 0, 1, 7821, 2624)
		NUMBER(49, 0, 1, 53158, 12065)
		NUMBER(50, 0, 2, 60979, 14689)
		NUMBER(51, 0, 4, 48601, 26754)
		NUMBER(52, 0, 7, 44044, 41443)
		NUMBER(53, 0, 12, 27110, 2661)
		NUMBER(54, 0, 20, 5618, 44104)
		NUMBER(55, 0, 32, 32728, 46765)
		NUMBER(56, 0, 52, 38347, 25333)
		NUMBER(57, 0, 85, 5540, 6562)
		NUMBER(58, 0, 137, 43887, 31895)
		NUMBER(59, 0, 222, 49427, 38457)
		NUMBER(60, 0, 360, 27779, 4816)
		NUMBER(61, 0, 583, 11670, 43273)
		NUMBER(62, 0, 943, 39449, 48089)
		NUMBER(63, 0, 1526, 51120, 25826)
		NUMBER(64, 0, 2470, 25034, 8379)
		NUMBER(65, 0, 3997, 10618, 34205)
		NUMBER(66, 0, 6467, 35652, 42584)
		NUMBER(67, 0, 10464, 46271, 11253)
		NUMBER(68, 0, 16932, 16387, 53837)
		NUMBER(69, 0, 27396, 62658, 65090)
		NUMBER(70, 0, 44329, 13510, 53391)
		NUMBER(71, 1, 6190, 10633, 52945)
		NUMBER(72, 1, 50519, 24144, 40800)
		NUMBER(73, 2, 56709, 34778, 28209)
		NUMBER(74, 4, 41692, 58923, 3473)
		NUMBER(75, 7, 32866, 28165, 31682)
		NUMBER(76, 12, 9023, 21552, 35155)
		NUMBER(77, 19, 41889, 49718, 1301)
		NUMBER(78, 31, 50913, 5734, 36456)
		NUMBER(79, 51, 27266, 55452, 37757)
		NUMBER(80, 83, 12643, 61187, 8677)
		NUMBER(81, 134, 39910, 51103, 46434)
		NUMBER(82, 217, 52554, 46754, 55111)
		NUMBER(83, 352, 26929, 32322, 36009)
		NUMBER(84, 570, 13948, 13541, 25584)
		NUMBER(85, 922, 40877, 45863, 61593)
		NUMBER(86, 1492, 54825, 59405, 21641)
		NUMBER(87, 2415, 30167, 39733, 17698)
		NUMBER(88, 3908, 19457, 33602, 39339)
		NUMBER(89, 6323, 49625, 7799, 57037)
		NUMBER(90, 10232, 3546, 41402, 30840)
		NUMBER(91, 16555, 53171, 49202, 22341)
		NUMBER(92, 26787, 56718, 25068, 53181)
		NUMBER(93, 43343, 44354, 8735, 9986)
	}
	/* clang-format on */
	return 0;
}

ssize_t fib_decimal(struct fib_call *call, const union fib_value *f,
		    char *digits, size_t size)
{
	u64 rest = f->word;
	char text[20];
	size_t count = 0;

	do {
		text[sizeof(text) - ++count] = '0' + rest % 10;
		rest /= 10;
	} while (rest);
	if (count > size)
		return -ERANGE;
	memcpy(digits, text + sizeof(text) - count, count);
	return count;
}

size_t fib_limbs(const union fib_value *f)
{
	return 1;
}

void fib_release(union fib_value *f)
{
}
