# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What can be said of noisy times. The round is the unit: samples within one hang together.

A verdict needs three things: a Mann-Whitney p value that is below 0.05 after Holm's correction for
all comparisons of the report, a 95 % bootstrap interval of the paired ratio that leaves 1 out by a
margin of 2 %, and that every boot bears it out: what one boot does to the place of a module is in
all of its rounds, and no number of them averages it out. Of 600 stages compared with themselves, in
rounds that were drawn from those of 102 recorded boots on a busy computer, 103 were called
different by the first two, at 1 % and in one boot; none by all three, in five, and 10 % were found
9 times in 10 (tests/test_self_comparison.py repeats it). Where rounds scatter, that takes more of
them, which clock.measure takes for what is undecided after a first look.

To stop at the first look because of what it shows would find a difference where there is none more
often than p says. Each look therefore has its equal part of the 5 % (Bonferroni): p is multiplied
by the number of looks, and an interval is wider by as much. For any rule of stopping, the chance
that a look claims wrongly is at most the sum of the chances of all looks. Holm's correction only
needs p values that are right one by one, so it holds for those too.

What the first two promise, for 15 rounds (tests/test_stats.py holds it to that, on simulated rounds
that drift by 2 %, one in ten of them an outlier by 40 %):

- where nothing differs, at most 1 report in 20 claims anything at all;
- a shift of 10 % is found at least 9 times in 10, even where rounds scatter by 2 %;
- a shift of 3 % is found at least 3 times in 4 on a quiet computer, where rounds scatter by
  0.3 %, and 9 times in 10 with 30 rounds; where they scatter by 2 % it is most often ~, and the
  exact metric is the one to ask;
- of 1,000 claims at most 1 names the wrong one as faster.

With two looks, the first and the last promise hold as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import stats

ALPHA = 0.05
# An interval must leave 1 out by this much before anything is claimed.
MARGIN = 0.02
RESAMPLES = 2000
# Fewer rounds than this and no claim is made, whatever they say: even rounds that do not overlap
# at all then have a p value that the corrections for a whole report (some 220 comparisons) and for
# two looks lift above ALPHA.
FEWEST = 9
# Up to here the distribution behind p is counted out, not approximated by a normal one.
MOST_EXACT = 30


@dataclass(frozen=True)
class Summary:
    """A median with its interval, and what else was asked for often enough."""

    median: float
    low: float
    high: float
    count: int
    mean: float
    minimum: float
    maximum: float
    trimmed_mean: float
    outliers: int


Array = np.ndarray[Any, np.dtype[np.float64]]


def _bootstrap_medians(values: Array, seed: int, looks: int = 1) -> tuple[Array, Array]:
    """The bootstrap interval of the median of each row, by percentiles: 95 % over all looks."""
    rounds = values.shape[-1]
    picks = np.random.default_rng(seed).integers(0, rounds, size=(RESAMPLES, rounds))
    # Of sorted values, the median of a resample is at the median of its picks.
    picks.sort(axis=-1)
    ranks = np.sort(values, axis=-1)
    medians = (ranks[..., picks[:, (rounds - 1) // 2]] + ranks[..., picks[:, rounds // 2]]) / 2
    low, high = np.quantile(medians, [ALPHA / looks / 2, 1 - ALPHA / looks / 2], axis=-1)
    return low, high


def summarise(values: Sequence[float], seed: int) -> Summary:
    """Describe the samples of one stage, phase and n; values in any unit, at least one."""
    data = np.asarray(values, dtype=float)
    low, high = _bootstrap_medians(data, seed)
    mean, sigma = float(np.mean(data)), float(np.std(data))
    kept = data[np.abs(data - mean) <= 2 * sigma]
    q1, q3 = np.quantile(data, [0.25, 0.75])
    reach = 1.5 * (q3 - q1)
    return Summary(
        median=float(np.median(data)),
        low=float(low),
        high=float(high),
        count=len(data),
        mean=mean,
        minimum=float(np.min(data)),
        maximum=float(np.max(data)),
        trimmed_mean=float(np.mean(kept)) if len(kept) else mean,
        outliers=int(np.sum((data < q1 - reach) | (data > q3 + reach))),
    )


@dataclass(frozen=True)
class Comparison:
    """Time of one over time of another; above 1 the other is faster."""

    ratio: float
    low: float
    high: float
    p: float | None


def compare(
    before: Sequence[float], after: Sequence[float], seed: int, looks: int = 1
) -> Comparison:
    """Compare the rounds of two stages; before[i] and after[i] are from the same round.

    What one has more than the other is left out. Drift that lasts longer than a round cancels in
    the pairs. looks: how many times the rounds may have been looked at, to take more or not.
    """
    rounds = min(len(before), len(after))
    rows = [np.asarray([side[:rounds]], dtype=float) for side in (before, after)]
    return compare_rows(rows[0], rows[1], seed, looks)[0]


def compare_rows(before: Array, after: Array, seed: int, looks: int = 1) -> list[Comparison]:
    """Many comparisons at once, one a row, with as many rounds in each."""
    rounds = before.shape[1]
    logs = np.log(before) - np.log(after)
    low, high = _bootstrap_medians(logs, seed, looks)
    p_values: list[float] | list[None] = [None] * len(before)
    if rounds >= FEWEST:
        # Mann-Whitney needs few rounds for a large shift; Wilcoxon's test of the pairs sees a
        # small one below drift. The smaller counts, doubled for having had two chances.
        # Ties are rare; what the exact distributions make of them errs on the safe side.
        method: Literal["exact", "auto"] = "exact" if rounds <= MOST_EXACT else "auto"
        apart = stats.mannwhitneyu(before, after, axis=1, method=method).pvalue
        paired = stats.wilcoxon(logs, axis=1, zero_method="zsplit", method=method).pvalue
        smaller = np.fmin(apart, paired)  # of two equal series the tests may say NaN
        p_values = np.clip(np.nan_to_num(2 * looks * smaller, nan=1.0), 0, 1).tolist()
    ratios = np.exp(np.median(logs, axis=1))
    return [
        Comparison(float(ratio), float(begin), float(end), p)
        for ratio, begin, end, p in zip(ratios, np.exp(low), np.exp(high), p_values)
    ]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction of several p values; None stays None."""
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, i) in enumerate(order):
        worst = max(worst, min(1.0, p * (len(order) - rank)))
        corrected[i] = worst
    return corrected


def unanimous(verdict_word: str, ratios: Sequence[float]) -> str:
    """A verdict that every boot of the machine bears out by its own median ratio, else ~.

    What one boot does to where a module lies is no difference between modules.
    """
    if verdict_word == "faster" and min(ratios) > 1 or verdict_word == "slower" and max(ratios) < 1:
        return verdict_word
    return "~"


def verdict(comparison: Comparison, p: float | None, margin: float = MARGIN) -> str:
    """faster, slower, or ~ when nothing can be claimed; p is the corrected one."""
    if p is None or p >= ALPHA:
        return "~"
    if comparison.low > 1 + margin:
        return "faster"
    if comparison.high < 1 / (1 + margin):
        return "slower"
    return "~"
