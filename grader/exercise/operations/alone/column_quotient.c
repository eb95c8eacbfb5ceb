// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (int again = 0; again < 4000; again++) {
		column_t sum = (column_t)alone_random() << 64 | alone_random();
		column_t exact, quotient;

		sum >>= again % 2 ? 0 : alone_random() % 128;
		exact = sum / 1000000000000000000ULL;
		quotient = column_quotient(sum);
		if (quotient > exact)
			return "the quotient is too large";
		if (exact - quotient > 4)
			return "the quotient is too small by more than 4";
	}
	return "right";
}
