// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Print F(n) in decimal for each given n. See make.sh. GMP computes F(n); its
 * arithmetic is binary and shares no code with bc, with Python or with the
 * stages. Each F(n) is computed in two ways, whose results must be equal: by
 * mpz_mul, with F(n - 1), from the top bit of n down,
 *
 *	F(2m) = F(m) (2 F(m - 1) + F(m)), F(2m - 1) = F(m)^2 + F(m - 1)^2
 *
 * and by GMP's function mpz_fib_ui.
 */
#include <gmp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	mpz_t a, b, c, d; /* F(m - 1), F(m), and the next pair */

	mpz_inits(a, b, c, d, NULL);
	for (int i = 1; i < argc; i++) {
		unsigned long n = strtoul(argv[i], NULL, 10), bit = 1;

		while (2 * bit <= n)
			bit *= 2;
		mpz_set_ui(a, 1); /* F(-1) */
		mpz_set_ui(b, 0);
		for (; bit; bit /= 2) {
			mpz_mul_2exp(d, a, 1);
			mpz_add(d, d, b);
			mpz_mul(d, d, b);
			mpz_mul(a, a, a);
			mpz_mul(b, b, b);
			mpz_add(a, a, b);
			mpz_swap(b, d);
			if (n & bit) {
				mpz_add(a, a, b);
				mpz_swap(a, b);
			}
		}
		mpz_fib_ui(c, n);
		if (mpz_cmp(b, c)) {
			fprintf(stderr, "large: two ways to F(%lu)\n", n);
			return 1;
		}
		mpz_out_str(stdout, 10, b);
		putchar('\n');
	}
	mpz_clears(a, b, c, d, NULL);
	return 0;
}
