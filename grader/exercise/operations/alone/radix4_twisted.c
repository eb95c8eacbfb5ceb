// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	struct complex4 z[4];
	double re[4][4], im[4][4];

	for (int i = 0; i < 4; i++)
		for (int lane = 0; lane < 4; lane++) {
			re[i][lane] = (double)(int)(alone_random() % 1000);
			im[i][lane] = (double)(int)(alone_random() % 1000);
			z[i].re[lane] = re[i][lane];
			z[i].im[lane] = im[i][lane];
		}
	radix4_twisted(z);
	for (int lane = 0; lane < 4; lane++) {
		/* The powers of i by which z1, z2 and z3 are multiplied. */
		static const int powers[4][3] = {
			{ 0, 0, 0 },
			{ 2, 0, 2 },
			{ 1, 2, 3 },
			{ 3, 2, 1 },
		};

		for (int i = 0; i < 4; i++) {
			double x = re[0][lane], y = im[0][lane];

			for (int j = 1; j < 4; j++) {
				double u = re[j][lane], v = im[j][lane];

				for (int k = powers[i][j - 1]; k; k--) {
					double old = u;

					u = -v;
					v = old;
				}
				x += u;
				y += v;
			}
			if (z[i].re[lane] != x || z[i].im[lane] != y)
				return "the sums and differences are wrong";
		}
	}
	return "right";
}
