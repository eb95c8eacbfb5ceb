# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Is one faster than the other? By resolution for counts, by statistics for times."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from grader.measure import instructions, stats
from grader.measure.samples import Series


@dataclass(frozen=True)
class Compared:
    """What one costs against another; a ratio above 1: the second costs less."""

    before: float  # medians, in the metric's unit
    after: float
    ratio: float
    low: float  # of the ratio's 95 % interval
    high: float
    p: float | None  # corrected for all comparisons made at once; None where counts are exact
    verdict: str  # of the second: "faster", "slower", or "~" when nothing can be claimed


# Half of an interval is about so many standard errors, for two looks.
STANDARD_ERRORS = 2.24

Pairs = Sequence[tuple[Series, Series]]


def compare(
    metric: str, pairs: Pairs, seed: int, margin: float = stats.MARGIN, looks: int = 1
) -> list[Compared]:
    """Compare pairs of series.

    margin: how much a time must differ to be claimed; looks: how many times the rounds may have
    been looked at, to take more or not.
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
    """Whether more rounds may decide each comparison that is undecided.

    growth: how many times as many rounds there would be. The interval would be narrower by its
    square root. A claim is possible if it would then leave the margin out, with a true ratio one
    standard error farther from 1 than the one measured.
    """
    found = []
    for one in compared:
        half = math.log(one.high / one.low) / 2
        farther = size(one) + half / STANDARD_ERRORS
        found.append(one.verdict == "~" and farther > math.log(1 + margin) + half / growth**0.5)
    return found


@dataclass(frozen=True)
class Paired:
    """The rounds that two series share."""

    before: list[float]
    after: list[float]
    boots: list[int]

    def by_boot(self) -> list[float]:
        """The median ratio of each boot."""
        ratios: dict[int, list[float]] = {}
        for boot, before, after in zip(self.boots, self.before, self.after):
            ratios.setdefault(boot, []).append(before / after)
        return [statistics.median(some) for some in ratios.values()]


def paired(before: Series, after: Series) -> Paired:
    """Values of the same rounds; what one has more than the other is left out."""
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
    """How large a difference is, whichever way: 0 for none."""
    return abs(math.log(compared.ratio))
