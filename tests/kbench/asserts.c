#include <assert.h>
#include <stdio.h>

static int half(int x)
{
	assert(x % 2 == 0);
	return x / 2;
}

int main(void)
{
	printf("%d\n", half(10));
	printf("%d\n", half(5));
	return 0;
}
