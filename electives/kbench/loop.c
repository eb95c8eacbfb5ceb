/*
 * Execute OUT_LOOP times a million loop iterations that compute nothing useful,
 * like the program of the article that kbench is based on.
 */
#ifndef OUT_LOOP
#define OUT_LOOP 100
#endif
#ifndef STEPS
#define STEPS 1000000
#endif

int main(void)
{
	int i;
	int a;
	int j;

	a = 2;
	j = 0;
	while (j < OUT_LOOP) {
		i = 0;
		while (i < STEPS) {
			a = a * i + 1;
			i = i + 1;
		}
		j = j + 1;
	}
	return a;
}
