#include <stdio.h>

/* A stack machine, which uses switches, structures and global variables. */
enum code { PUSH, ADD, MULTIPLY, DUPLICATE, DECREASE, JUMP, STOP };

struct step {
	enum code code;
	int value;
};

static const struct step steps[] = {
	{ PUSH, 1 },	 { PUSH, 6 }, { DECREASE, 0 }, { DUPLICATE, 0 },
	{ MULTIPLY, 0 }, { JUMP, 2 }, { STOP, 0 },
};
static int stack[64], top, count = 12;

static void push(int x)
{
	stack[top++ & 63] = x;
}

static int pop(void)
{
	return stack[--top & 63];
}

int main(void)
{
	unsigned int sum = 0;

	for (int at = 0; steps[at].code != STOP; at++) {
		switch (steps[at].code) {
		case PUSH:
			push(steps[at].value);
			break;
		case ADD:
			push(pop() + pop());
			break;
		case MULTIPLY:
			push((int)((unsigned int)pop() * (unsigned int)pop()));
			break;
		case DUPLICATE:
			push(stack[(top - 1) & 63] + 3);
			break;
		case DECREASE:
			count--;
			break;
		case JUMP:
			if (count > 0)
				at = steps[at].value - 1;
			break;
		case STOP:
			break;
		}
		sum = sum * 31 + (unsigned int)stack[(top - 1) & 63];
	}
	printf("%u %d\n", sum, count);
	return (int)(sum % 251);
}
