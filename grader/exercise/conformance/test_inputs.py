# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Choose the n to verify: all small n, and random larger n of each size, which the seed selects."""

from __future__ import annotations

import random
from collections.abc import Sequence

from grader.exercise.files import expected_values, near_numbers, octaves
from grader.exercise.files.stages import Manifest

EVERY_N_TO = 1000
# Above this n, a number has more than two hundred thousand digits. If several such numbers are
# wrong, only the first is read again digit by digit.
TEXT_TO = 1_000_000

# Runs of consecutive n. Each row has the largest n, the number of runs between the largest n of the
# previous row and this n, and the length of a run. The runs of one row are equally spaced, and the
# first begins at a random n, so a single wrong n is missed with a probability of
#
# 	(range - count * length) / range
#
# in one verification: 0 up to n = 1,000, where each n is read; 49 % up to 10,000; 90 % up to
# 30,000; 99.8 % up to 100,000. Up to 100,000, an error is always found if it affects all numbers of
# some length, because these n are an interval of a thousandth of n or more. Another seed gives
# other runs.
RUNS = ((10_000, 36, 128), (30_000, 16, 128), (100_000, 8, 16))
# One n is drawn in each of this many equal parts of an octave, from EVERY_N_TO to max_n. A method
# of a stage serves a range of n of at least a quarter of an octave, for example each length of
# stage 11's transforms. Such a range contains a whole part of an octave, so at least one n in the
# range is verified.
# Stages whose products are all by the schoolbook method have no such ranges, and their large n take
# long.
PARTS_OF_OCTAVE = 8
SCHOOLBOOK_PARTS = 4
QUICK_PARTS = 1

# Stages with slow products take a hundred times as long, so their runs are a sixteenth as long. A
# learner waits for these stages most often.
SLOW_SHARE = 16


def small_n(max_n: int) -> list[int]:
    """Return the small n, all of which are verified."""
    return list(range(min(max_n, EVERY_N_TO) + 1))


def large_n(manifest: Manifest, compared: Sequence[int], seed: int, quick: bool) -> list[int]:
    """Return the larger n to verify one by one.

    They are random n of each size, n near the numbers that the code compares, n with golden output,
    and both ends of the range.
    """
    top = manifest.max_n
    if top <= EVERY_N_TO:
        return []
    rng = random.Random(seed)
    parts = PARTS_OF_OCTAVE if manifest.traits.subquadratic else SCHOOLBOOK_PARTS
    parts = QUICK_PARTS if quick else parts
    golden = [n for n in expected_values.golden_n() if n <= top]
    found = {EVERY_N_TO + 1, top}
    found.update(octaves.drawn(EVERY_N_TO, top, parts, rng))
    found.update(golden[:: max(1, len(golden) // 12)] if quick else golden)
    if manifest.traits.results == "preallocated":
        found.update(expected_values.above_whole_limbs(top, manifest.traits.decimal))
    if not quick:
        near = near_numbers.n_near(manifest, compared, rng)
        found.update(n for n in near if n > EVERY_N_TO)
    return sorted(found)


def chosen_runs(manifest: Manifest, seed: int) -> list[tuple[int, int]]:
    """Return the first and last n of each run to verify."""
    rng = random.Random(seed)
    found = []
    below = EVERY_N_TO
    for top, count, most in RUNS:
        length = -(-most // SLOW_SHARE) if manifest.traits.slow else most
        distance = (top - below) // count
        begin = below + 1 - rng.randrange(distance)
        for first in range(begin, top + 1, distance):
            last = min(first + length - 1, top, manifest.max_n)
            if last > below and first <= manifest.max_n:
                found.append((max(first, below + 1), last))
        below = top
    return sorted(found)
