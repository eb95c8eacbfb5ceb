#include <stdio.h>

#define N 24

static long a[N][N], b[N][N], c[N][N];

int main(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = i * 7 - j;
			b[i][j] = (i ^ j) * 13 % 17;
		}
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			c[i][j] = 0;
			for (int k = 0; k < N; k++)
				c[i][j] += a[i][k] * b[k][j];
		}
	for (int i = 0; i < N; i += 5)
		printf("%ld %ld\n", c[i][i], c[i][N - 1 - i]);
	return (int)(c[3][4] & 127);
}
