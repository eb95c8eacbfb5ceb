# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Is one faster than the other? By resolution for counts, by statistics for times."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from grader.rulers import counter, stats


@dataclass(frozen=True)
class Compared:
    """What one costs against another; a ratio above 1: the second costs less."""

    before: float  # medians, in the ruler's unit
    after: float
    ratio: float
    low: float  # of the ratio's 95 % interval
    high: float
    p: float | None  # corrected for all comparisons made at once; None where counts are exact
    verdict: str  # of the second: "faster", "slower", or "~" when nothing can be claimed


Pairs = Sequence[tuple[Sequence[float], Sequence[float]]]


def compare(ruler: str, pairs: Pairs, seed: int, margin: float = stats.MARGIN) -> list[Compared]:
    """Compare pairs of series; margin: how much a time must differ to be claimed."""
    if ruler == "instructions":
        return [_by_resolution(*map(statistics.median, pair)) for pair in pairs]
    found = [stats.compare(before, after, seed) for before, after in pairs]
    return [
        Compared(
            statistics.median(before),
            statistics.median(after),
            one.ratio,
            one.low,
            one.high,
            p,
            stats.verdict(one, p, margin),
        )
        for (before, after), one, p in zip(pairs, found, stats.holm([c.p for c in found]))
    ]


def _by_resolution(before: float, after: float) -> Compared:
    ratio, reach = before / after, 1 + counter.RESOLUTION
    verdict = "~"
    if counter.differ(before, after):
        verdict = "faster" if ratio > 1 else "slower"
    return Compared(before, after, ratio, ratio / reach, ratio * reach, None, verdict)


def size(compared: Compared) -> float:
    """How large a difference is, whichever way: 0 for none."""
    return abs(math.log(compared.ratio))
