# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What can be said of noisy times. The round is the unit: samples within one hang together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

ALPHA = 0.05
# An interval must leave 1 out by this much before anything is claimed.
MARGIN = 0.01
RESAMPLES = 2000
# Fewer rounds than this and no claim is made, whatever they say.
FEWEST = 5


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


def _bootstrap_median(values: np.ndarray, seed: int) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the median."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(values), size=(RESAMPLES, len(values)))
    medians = np.median(values[picks], axis=1)
    low, high = np.quantile(medians, [ALPHA / 2, 1 - ALPHA / 2])
    return float(low), float(high)


def summarise(values: Sequence[float], seed: int) -> Summary:
    """Describe the samples of one stage, phase and n; values in any unit, at least one."""
    data = np.asarray(values, dtype=float)
    low, high = _bootstrap_median(data, seed)
    mean, sigma = float(np.mean(data)), float(np.std(data))
    kept = data[np.abs(data - mean) <= 2 * sigma]
    q1, q3 = np.quantile(data, [0.25, 0.75])
    reach = 1.5 * (q3 - q1)
    return Summary(
        median=float(np.median(data)),
        low=low,
        high=high,
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


def compare(before: Sequence[float], after: Sequence[float], seed: int) -> Comparison:
    """Compare the rounds of two stages: ratio by the paired log-ratio, p by Mann-Whitney.

    before[i] and after[i] are from the same round; what one has more is not used for the
    interval. Source of the pairing: drift that lasts longer than a round cancels.
    """
    rounds = min(len(before), len(after))
    logs = np.log(np.asarray(before[:rounds])) - np.log(np.asarray(after[:rounds]))
    low, high = _bootstrap_median(logs, seed)
    p = None
    if rounds >= FEWEST:
        p = float(stats.mannwhitneyu(before, after, alternative="two-sided").pvalue)
    return Comparison(math.exp(float(np.median(logs))), math.exp(low), math.exp(high), p)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction of several p values; None stays None."""
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, i) in enumerate(order):
        worst = max(worst, min(1.0, p * (len(order) - rank)))
        corrected[i] = worst
    return corrected


def verdict(comparison: Comparison, p: float | None, margin: float = MARGIN) -> str:
    """faster, slower, or ~ when nothing can be claimed; p is the corrected one."""
    if p is None or p >= ALPHA:
        return "~"
    if comparison.low > 1 + margin:
        return "faster"
    if comparison.high < 1 / (1 + margin):
        return "slower"
    return "~"
