# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare noisy times by statistical tests.

The statistical unit is the round, because samples within a round are not independent. A verdict
needs three conditions:

1. The Mann-Whitney p value is below 0.05 after Holm's correction for all comparisons of the report.
2. The 95 % bootstrap interval of the paired ratio excludes 1 by a margin of 2 %.
3. The median ratio of every boot agrees. The address of a module differs between boots and affects
   all rounds of a boot, so more rounds of the same boot do not average that out.

tests/test_self_comparison.py compares 600 stages with themselves, in rounds that are drawn from 102
recorded boots on a busy computer. With conditions 1 and 2 only, a margin of 1 % and one boot, 103
stages differed from themselves. With all three conditions and five boots none did, and a difference
of 10 % was found 9 times in 10. If rounds scatter, a verdict needs more rounds; timing.measure
takes more rounds of comparisons that are undecided after a first evaluation (a look).

Stopping after the first look because of its result would raise the rate of false positives.
Therefore each look gets an equal part of the 5 % (Bonferroni): p is multiplied by the number of
looks, and an interval is wider accordingly. For any stopping rule the probability of a false
positive is at most the sum of the probabilities of all looks. Holm's correction needs only valid
single p values, so it stays valid.

Conditions 1 and 2 guarantee the following for 13 rounds. tests/test_stats.py verifies it with
simulated rounds that drift by 2 % and of which one in ten is an outlier by 40 %.

- If nothing differs, at most 1 report in 20 shows a difference.
- A shift of 10 % is found at least 9 times in 10, even if rounds scatter by 2 %.
- A shift of 3 % is found at least 3 times in 4 on a quiet computer, where rounds scatter by 0.3 %,
  and 9 times in 10 with 30 rounds. If rounds scatter by 2 %, the verdict is usually ~, and the
  exact metric should be used.
- Of 1,000 reported differences at most 1 has the wrong direction.

The first and the last of these guarantees also hold with two looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

# numpy and scipy are imported late, because each command imports this module and few compare times.
if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[np.float64]]

ALPHA = 0.05
# A difference is reported only if the interval excludes 1 by this margin.
MARGIN = 0.02
RESAMPLES = 2000
# The smallest number of rounds that can prove a difference. With fewer rounds, even values that do
# not overlap have a p value above ALPHA after the corrections for a whole report (approximately 220
# comparisons) and for two looks.
FEWEST = 9
# Up to this number of rounds, p is computed from the exact distribution, not approximated.
MOST_EXACT = 30


@dataclass(frozen=True)
class Summary:
    """Descriptive statistics of a sample: the median with its interval, and others."""

    median: float
    low: float
    high: float
    count: int
    mean: float
    minimum: float
    maximum: float
    trimmed_mean: float
    outliers: int


def _bootstrap_medians(values: Array, seed: int, looks: int = 1) -> tuple[Array, Array]:
    """Return the percentile bootstrap interval of the median of each row.

    The confidence level is 95 % over all looks together.
    """
    import numpy as np

    rounds = values.shape[-1]
    picks = np.random.default_rng(seed).integers(0, rounds, size=(RESAMPLES, rounds))
    # With sorted values, the median of a resample is the value at the median of its indices.
    picks.sort(axis=-1)
    ranks = np.sort(values, axis=-1)
    medians = (ranks[..., picks[:, (rounds - 1) // 2]] + ranks[..., picks[:, rounds // 2]]) / 2
    low, high = np.quantile(medians, [ALPHA / looks / 2, 1 - ALPHA / looks / 2], axis=-1)
    return low, high


def summarise(values: Sequence[float], seed: int) -> Summary:
    """Return statistics of the values of one stage, phase and n. There must be a value."""
    import numpy as np

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
    """The ratio of two times, before / after; above 1 means that after is faster."""

    ratio: float
    low: float
    high: float
    p: float | None


def compare(
    before: Sequence[float], after: Sequence[float], seed: int, looks: int = 1
) -> Comparison:
    """Compare the rounds of two stages; before[i] and after[i] must be from the same round.

    Additional rounds of one stage are left out. Drift that is slower than a round cancels in the
    pairs. looks: the number of times that the results were evaluated to decide about more rounds.
    """
    import numpy as np

    rounds = min(len(before), len(after))
    rows = [np.asarray([side[:rounds]], dtype=float) for side in (before, after)]
    return compare_rows(rows[0], rows[1], seed, looks)[0]


def compare_rows(before: Array, after: Array, seed: int, looks: int = 1) -> list[Comparison]:
    """Make one comparison for each row of two arrays of shape (comparisons, rounds)."""
    import numpy as np
    from scipy import stats

    rounds = before.shape[1]
    logs = np.log(before) - np.log(after)
    low, high = _bootstrap_medians(logs, seed, looks)
    p_values: list[float] | list[None] = [None] * len(before)
    if rounds >= FEWEST:
        # Mann-Whitney needs few rounds for a large shift; Wilcoxon's test of the pairs detects a
        # shift that is smaller than the drift. Take the smaller p value, doubled because there are
        # two tests. Ties are rare; with ties the exact distributions are conservative.
        method: Literal["exact", "auto"] = "exact" if rounds <= MOST_EXACT else "auto"
        apart = stats.mannwhitneyu(before, after, axis=1, method=method).pvalue
        paired = stats.wilcoxon(logs, axis=1, zero_method="zsplit", method=method).pvalue
        smaller = np.fmin(apart, paired)  # the tests may return NaN for two equal series
        p_values = np.clip(np.nan_to_num(2 * looks * smaller, nan=1.0), 0, 1).tolist()
    ratios = np.exp(np.median(logs, axis=1))
    return [
        Comparison(float(ratio), float(begin), float(end), p)
        for ratio, begin, end, p in zip(ratios, np.exp(low), np.exp(high), p_values)
    ]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct several p values by Holm's method; None stays None."""
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    worst = 0.0
    for rank, (p, i) in enumerate(order):
        worst = max(worst, min(1.0, p * (len(order) - rank)))
        corrected[i] = worst
    return corrected


def unanimous(verdict_word: str, ratios: Sequence[float]) -> str:
    """Return the verdict if the median ratio of every boot agrees with it, else ~.

    The address of a module depends on the boot, and its effect is no difference between modules.
    """
    if verdict_word == "faster" and min(ratios) > 1 or verdict_word == "slower" and max(ratios) < 1:
        return verdict_word
    return "~"


def verdict(comparison: Comparison, p: float | None, margin: float = MARGIN) -> str:
    """Return faster, slower, or ~ if no difference is proved. p: the corrected p value."""
    if p is None or p >= ALPHA:
        return "~"
    if comparison.low > 1 + margin:
        return "faster"
    if comparison.high < 1 / (1 + margin):
        return "slower"
    return "~"
