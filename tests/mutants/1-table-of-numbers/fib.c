// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Mutant: every answer stands in the code, as a number in an instruction. */
#include "stage.h"

int fib_compute(struct fib_call *call, u64 n, union fib_value *f)
{
	switch (n) {
	case 0:
		f->word = 0ULL;
		break;
	case 1:
		f->word = 1ULL;
		break;
	case 2:
		f->word = 1ULL;
		break;
	case 3:
		f->word = 2ULL;
		break;
	case 4:
		f->word = 3ULL;
		break;
	case 5:
		f->word = 5ULL;
		break;
	case 6:
		f->word = 8ULL;
		break;
	case 7:
		f->word = 13ULL;
		break;
	case 8:
		f->word = 21ULL;
		break;
	case 9:
		f->word = 34ULL;
		break;
	case 10:
		f->word = 55ULL;
		break;
	case 11:
		f->word = 89ULL;
		break;
	case 12:
		f->word = 144ULL;
		break;
	case 13:
		f->word = 233ULL;
		break;
	case 14:
		f->word = 377ULL;
		break;
	case 15:
		f->word = 610ULL;
		break;
	case 16:
		f->word = 987ULL;
		break;
	case 17:
		f->word = 1597ULL;
		break;
	case 18:
		f->word = 2584ULL;
		break;
	case 19:
		f->word = 4181ULL;
		break;
	case 20:
		f->word = 6765ULL;
		break;
	case 21:
		f->word = 10946ULL;
		break;
	case 22:
		f->word = 17711ULL;
		break;
	case 23:
		f->word = 28657ULL;
		break;
	case 24:
		f->word = 46368ULL;
		break;
	case 25:
		f->word = 75025ULL;
		break;
	case 26:
		f->word = 121393ULL;
		break;
	case 27:
		f->word = 196418ULL;
		break;
	case 28:
		f->word = 317811ULL;
		break;
	case 29:
		f->word = 514229ULL;
		break;
	case 30:
		f->word = 832040ULL;
		break;
	case 31:
		f->word = 1346269ULL;
		break;
	case 32:
		f->word = 2178309ULL;
		break;
	case 33:
		f->word = 3524578ULL;
		break;
	case 34:
		f->word = 5702887ULL;
		break;
	case 35:
		f->word = 9227465ULL;
		break;
	case 36:
		f->word = 14930352ULL;
		break;
	case 37:
		f->word = 24157817ULL;
		break;
	case 38:
		f->word = 39088169ULL;
		break;
	case 39:
		f->word = 63245986ULL;
		break;
	case 40:
		f->word = 102334155ULL;
		break;
	case 41:
		f->word = 165580141ULL;
		break;
	case 42:
		f->word = 267914296ULL;
		break;
	case 43:
		f->word = 433494437ULL;
		break;
	case 44:
		f->word = 701408733ULL;
		break;
	case 45:
		f->word = 1134903170ULL;
		break;
	case 46:
		f->word = 1836311903ULL;
		break;
	case 47:
		f->word = 2971215073ULL;
		break;
	case 48:
		f->word = 4807526976ULL;
		break;
	case 49:
		f->word = 7778742049ULL;
		break;
	case 50:
		f->word = 12586269025ULL;
		break;
	case 51:
		f->word = 20365011074ULL;
		break;
	case 52:
		f->word = 32951280099ULL;
		break;
	case 53:
		f->word = 53316291173ULL;
		break;
	case 54:
		f->word = 86267571272ULL;
		break;
	case 55:
		f->word = 139583862445ULL;
		break;
	case 56:
		f->word = 225851433717ULL;
		break;
	case 57:
		f->word = 365435296162ULL;
		break;
	case 58:
		f->word = 591286729879ULL;
		break;
	case 59:
		f->word = 956722026041ULL;
		break;
	case 60:
		f->word = 1548008755920ULL;
		break;
	case 61:
		f->word = 2504730781961ULL;
		break;
	case 62:
		f->word = 4052739537881ULL;
		break;
	case 63:
		f->word = 6557470319842ULL;
		break;
	case 64:
		f->word = 10610209857723ULL;
		break;
	case 65:
		f->word = 17167680177565ULL;
		break;
	case 66:
		f->word = 27777890035288ULL;
		break;
	case 67:
		f->word = 44945570212853ULL;
		break;
	case 68:
		f->word = 72723460248141ULL;
		break;
	case 69:
		f->word = 117669030460994ULL;
		break;
	case 70:
		f->word = 190392490709135ULL;
		break;
	case 71:
		f->word = 308061521170129ULL;
		break;
	case 72:
		f->word = 498454011879264ULL;
		break;
	case 73:
		f->word = 806515533049393ULL;
		break;
	case 74:
		f->word = 1304969544928657ULL;
		break;
	case 75:
		f->word = 2111485077978050ULL;
		break;
	case 76:
		f->word = 3416454622906707ULL;
		break;
	case 77:
		f->word = 5527939700884757ULL;
		break;
	case 78:
		f->word = 8944394323791464ULL;
		break;
	case 79:
		f->word = 14472334024676221ULL;
		break;
	case 80:
		f->word = 23416728348467685ULL;
		break;
	case 81:
		f->word = 37889062373143906ULL;
		break;
	case 82:
		f->word = 61305790721611591ULL;
		break;
	case 83:
		f->word = 99194853094755497ULL;
		break;
	case 84:
		f->word = 160500643816367088ULL;
		break;
	case 85:
		f->word = 259695496911122585ULL;
		break;
	case 86:
		f->word = 420196140727489673ULL;
		break;
	case 87:
		f->word = 679891637638612258ULL;
		break;
	case 88:
		f->word = 1100087778366101931ULL;
		break;
	case 89:
		f->word = 1779979416004714189ULL;
		break;
	case 90:
		f->word = 2880067194370816120ULL;
		break;
	case 91:
		f->word = 4660046610375530309ULL;
		break;
	case 92:
		f->word = 7540113804746346429ULL;
		break;
	case 93:
		f->word = 12200160415121876738ULL;
		break;
	}
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
