# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Which n are verified: each alone, as text, and runs of consecutive ones, by their digest."""

from __future__ import annotations

import random

from grader.stage import oracle

EVERY_N_TO = 1000
# Above, a number is two hundred thousand digits and more: it is verified by its digest; but for
# the largest of a stage, which is read as well.
TEXT_TO = 1_000_000

# Runs: up to which n, how many between there and the row above, and how long each is. Within a row
# they are at even distances, from a random place on, so that one n alone, which is wrong, is missed
# with a chance of
#
# 	(range - count * length) / range
#
# in one verification: none up to 1,000, where each is read; 49 % up to 10,000; 90 % up to 30,000;
# 99.8 % up to 100,000; more above. (What is wrong with numbers of a certain length, a thousandth
# of n or more, is not missed up to 100,000.) Other seeds are other places. It is 21 million
# digits: more would be waited for, 60 ns each, for Python's hash of them.
RUNS = (
    (10_000, 36, 128),
    (30_000, 16, 128),
    (100_000, 8, 16),
    (1_000_000, 3, 4),
    (10_000_000, 1, 2),
)


# Stages whose products are slow take a hundred times as long: they get an eighth of it.
SLOW_SHARE = 8


def chosen_n(max_n: int, seed: int, quick: bool) -> list[int]:
    """Which n are read: all to 1,000, golden ones and random ones above, max_n."""
    some = list(range(min(max_n, EVERY_N_TO) + 1))
    top = min(max_n, TEXT_TO)
    if max_n > EVERY_N_TO:
        rng = random.Random(seed)
        ratio = top / EVERY_N_TO
        count = 8 if quick else 24
        above = {round(EVERY_N_TO * ratio ** rng.random()) for _ in range(count)}
        golden = [n for n in oracle.golden_n() if n <= top]
        above.update(golden[:: max(1, len(golden) // 12)] if quick else golden)
        above.update({EVERY_N_TO + 1, top - 1, top, max_n})
        some.extend(sorted(above - set(some)))
    return some


def chosen_runs(slow: bool, max_n: int, seed: int, quick: bool) -> list[tuple[int, int]]:
    """Return the first and the last n of each run that a stage is verified by."""
    rng = random.Random(seed)
    found = []
    below = EVERY_N_TO
    for top, count, most in RUNS:
        length = -(-most // SLOW_SHARE) if slow else most
        distance = (top - below) // count
        begin = below + 1 - rng.randrange(distance)
        for first in range(begin, top + 1, distance):
            last = min(first + length - 1, top, max_n)
            if last > below and first <= max_n:
                found.append((max(first, below + 1), last))
        below = top
    golden = [n for n in oracle.golden_n() if TEXT_TO < n < max_n]
    if max_n > TEXT_TO:
        found += [(n, n) for n in (golden[:1] if quick else golden)]
        found.append((max_n - 1, max_n))
    return sorted(found)
