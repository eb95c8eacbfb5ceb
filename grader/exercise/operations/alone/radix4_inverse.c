// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	double squares = 0;

	for (int again = 0; again < 1000; again++) {
		struct powers p;
		struct complex4 z[4], *w[3] = { &p.w1, &p.w2, &p.w3 };
		double re[4][4], im[4][4];

		for (int lane = 0; lane < 4; lane++) {
			/* A rational point of the unit circle, and its powers. */
			long double m = alone_random() % 1000 + 1;
			long double x = 1 - m * m / 1e6L, y = 2 * m / 1e3L;
			long double u, v, scale = 1 + m * m / 1e6L;

			x = u = x / scale;
			y = v = y / scale;
			for (int i = 0; i < 3; i++) {
				long double old = u;

				w[i]->re[lane] = u;
				w[i]->im[lane] = v;
				u = u * x - v * y;
				v = old * y + v * x;
			}
			for (int i = 0; i < 4; i++) {
				re[i][lane] = (s64)alone_random() * 0x1p-63;
				im[i][lane] = (s64)alone_random() * 0x1p-63;
				z[i].re[lane] = re[i][lane];
				z[i].im[lane] = im[i][lane];
			}
		}
		radix4_inverse(z, &p);
		for (int lane = 0; lane < 4; lane++) {
			for (int i = 0; i < 4; i++) {
				/* The value j is times i^-ij, then / w^i. */
				static const int turns[4] = { 0, 2, 1, 3 };
				long double x = 0, y = 0, u, v, s, t;

				for (int j = 0; j < 4; j++) {
					u = re[j][lane];
					v = im[j][lane];
					for (int k = 0; k < i * turns[j] % 4;
					     k++) {
						s = u;
						u = v;
						v = -s;
					}
					x += u;
					y += v;
				}
				s = i ? w[i - 1]->re[lane] : 1;
				t = i ? w[i - 1]->im[lane] : 0;
				u = x * s + y * t - z[i].re[lane];
				v = y * s - x * t - z[i].im[lane];
				squares += u * u + v * v;
			}
		}
	}
	/* In units of 2^-52, the kit's function has a mean square of 0.48. */
	squares *= 0x1p104 / 16000;
	if (squares > 1000)
		return "the values are not those before radix4, times 4";
	if (squares > 0.7)
		return "it rounds more often than a product by w1, w2 and w3 does";
	return "right";
}
