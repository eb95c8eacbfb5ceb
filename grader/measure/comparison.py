# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Decide whether one series of measurements is faster than another.

Counts are compared by the resolution of the counter, times by statistical tests.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from grader.measure import instructions, stats
from grader.measure.samples import Series


@dataclass(frozen=True)
class Compared:
    """The comparison of two costs. A ratio above 1 means that the second (after) costs less."""

    before: float  # Median of the first series, in the metric's unit.
    after: float
    ratio: float
    low: float  # Bounds of the 95 % interval of the ratio.
    high: float
    p: float | None  # p value, corrected for all comparisons; None if counts are exact.
    verdict: str  # Result for the second: "faster", "slower", or "~" if undecided.


# Half the width of a confidence interval, in standard errors, if the results are evaluated twice
# (two looks, see stats.py).
STANDARD_ERRORS = 2.24

Pairs = Sequence[tuple[Series, Series]]


def compare(
    metric: str, pairs: Pairs, seed: int, margin: float = stats.MARGIN, looks: int = 1
) -> list[Compared]:
    """Compare the two series of each pair.

    margin: the smallest relative difference of times that is reported. looks: the number of times
    that the results were evaluated to decide whether to measure more rounds.
    """
    if metric == "instructions":
        return [_by_resolution(before.median, after.median) for before, after in pairs]
    rounds = [paired(before, after) for before, after in pairs]
    found = [stats.compare(one.before, one.after, seed, looks) for one in rounds]
    return [
        Compared(
            before.median,
            after.median,
            one.ratio,
            one.low,
            one.high,
            p,
            stats.unanimous(stats.verdict(one, p, margin), both.by_boot()),
        )
        for (before, after), both, one, p in zip(
            pairs, rounds, found, stats.holm([c.p for c in found])
        )
    ]


def undecided(compared: Sequence[Compared], margin: float, growth: float) -> list[bool]:
    """Return for each comparison whether it is undecided and more rounds may decide it.

    growth: the factor by which the number of rounds would grow. The interval would be narrower by
    the square root of growth. A decision is possible if the interval would then be outside of the
    margin, assuming a true ratio one standard error farther from 1 than the measured ratio.
    """
    found = []
    for one in compared:
        half = math.log(one.high / one.low) / 2
        farther = size(one) + half / STANDARD_ERRORS
        found.append(one.verdict == "~" and farther > math.log(1 + margin) + half / growth**0.5)
    return found


@dataclass(frozen=True)
class Paired:
    """The values of two series in the rounds that occur in both series."""

    before: list[float]
    after: list[float]
    boots: list[int]

    def by_boot(self) -> list[float]:
        """Return the median ratio of each boot."""
        ratios: dict[int, list[float]] = {}
        for boot, before, after in zip(self.boots, self.before, self.after):
            ratios.setdefault(boot, []).append(before / after)
        return [statistics.median(some) for some in ratios.values()]


def paired(before: Series, after: Series) -> Paired:
    """Pair the values of the same rounds; leave out rounds that only one series has."""
    if not before.rounds or not after.rounds:
        both = min(len(before.values), len(after.values))
        return Paired(before.values[:both], after.values[:both], [0] * both)
    one, other = (dict(zip(series.rounds, series.values)) for series in (before, after))
    shared = [place for place in one if place in other]
    return Paired([one[p] for p in shared], [other[p] for p in shared], [p[0] for p in shared])


def _by_resolution(before: float, after: float) -> Compared:
    ratio, reach = before / after, 1 + instructions.RESOLUTION
    verdict = "~"
    if instructions.differ(before, after):
        verdict = "faster" if ratio > 1 else "slower"
    return Compared(before, after, ratio, ratio / reach, ratio * reach, None, verdict)


def size(compared: Compared) -> float:
    """Return the absolute logarithm of the ratio: 0 if there is no difference."""
    return abs(math.log(compared.ratio))
