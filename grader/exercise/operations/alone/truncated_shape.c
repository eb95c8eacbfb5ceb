// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
const char *alone(struct fib_call *call)
{
	for (size_t points = 1; points < 70000; points += 1 + points / 50) {
		struct shape s = truncated_shape(points);
		size_t least = -1;

		if (s.main < 4 || s.main & (s.main - 1) ||
		    (s.parts && s.parts != 2 && s.parts != 4))
			return "main is no power of 2, or parts is not 0, 2 or 4";
		if (truncated_points(s) < points)
			return "the shape has too few points";
		for (size_t main = 4; main < 200000; main *= 2)
			for (size_t parts = 0; parts <= 4; parts += 2) {
				struct shape other = { main, parts };

				if (truncated_points(other) >= points &&
				    truncated_points(other) < least)
					least = truncated_points(other);
			}
		if (truncated_points(s) > least)
			return "a shorter shape has enough points";
	}
	return "right";
}
