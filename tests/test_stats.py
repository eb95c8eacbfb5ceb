# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test on simulated rounds that grader/measure/stats.py stays below its error rates.

The simulation follows the grader's situation: two stages are measured in the same rounds. The two
share a drift and have lognormal scatter. Other load slows down a few rounds and never makes a round
faster.
"""

import math

import numpy as np
import pytest

from grader.measure import comparison, stats, timing
from grader.measure.samples import Series

pytestmark = pytest.mark.once

ROUNDS = timing.WHOLE.rounds
COMPARISONS = 14  # The number of statistical tests in a report on one pair of stages.


def simulate(rng, rows, scatter, shift=0.0, rounds=ROUNDS, outliers=0.1):
    """Simulate times in an array of rows x 2 stages x rounds. Stage 0 is slower by `shift`."""
    walk = np.cumsum(rng.normal(0, 0.002, (rows, 1, rounds)), axis=2)
    slope = np.linspace(0, 1, rounds) * rng.normal(0, 0.02, (rows, 1, 1))
    logs = walk + slope + rng.normal(0, scatter, (rows, 2, rounds))
    hit = rng.random((rows, 2, rounds)) < outliers
    logs += hit * rng.exponential(0.4, (rows, 2, rounds))
    times = np.exp(logs)
    times[:, 0] *= 1 + shift
    return 1000 * times


def reports(count, scatter, shift=0.0, rounds=ROUNDS, comparisons=COMPARISONS, outliers=0.1):
    """Return a list of verdicts for each of `count` simulated reports."""
    rng = np.random.default_rng(20260101)
    rows = simulate(rng, count * comparisons, scatter, shift, rounds, outliers)
    found = []
    # Compare 500 rows at a time, because each row needs memory for 2,000 resamples.
    for begin in range(0, len(rows), 500):
        part = rows[begin : begin + 500]
        found += stats.compare_rows(part[:, 0], part[:, 1], begin)
    verdicts = []
    for begin in range(0, len(found), comparisons):
        report = found[begin : begin + comparisons]
        corrected = stats.holm([c.p for c in report])
        verdicts.append([stats.verdict(c, p) for c, p in zip(report, corrected)])
    return verdicts


def share(verdicts, word):
    flat = [v for report in verdicts for v in report]
    return flat.count(word) / len(flat)


@pytest.mark.parametrize("scatter", [0.003, 0.02, 0.05])
def test_no_false_alarm_in_19_of_20_reports_without_a_difference(scatter):
    verdicts = reports(1000, scatter, comparisons=COMPARISONS)
    alarms = sum(any(v != "~" for v in report) for report in verdicts)
    assert alarms <= 50


@pytest.mark.parametrize("rounds", [8, ROUNDS, 30])
def test_a_single_comparison_cries_wolf_at_most_1_time_in_20(rounds):
    verdicts = reports(1000, 0.05, rounds=rounds, comparisons=1)
    assert 1 - share(verdicts, "~") <= 0.05


def test_p_values_alone_keep_their_promise():
    rng = np.random.default_rng(7)
    rows = simulate(rng, 2000, 0.02)
    p = np.array([c.p for c in stats.compare_rows(rows[:, 0], rows[:, 1], 1)])
    for alpha in (0.01, 0.05, 0.2):
        assert np.mean(p < alpha) <= alpha + 2 * math.sqrt(alpha / len(p))


def test_the_interval_holds_the_truth_9_times_in_10():
    rows = simulate(np.random.default_rng(9), 2000, 0.02, shift=0.1)
    found = stats.compare_rows(rows[:, 0], rows[:, 1], 1)
    assert np.mean([c.low <= 1.1 <= c.high for c in found]) >= 0.9


def test_ten_percent_is_found_even_on_a_noisy_computer():
    verdicts = reports(100, 0.02, shift=0.10)
    assert share(verdicts, "faster") >= 0.9
    assert share(verdicts, "slower") == 0


def test_three_percent_is_found_on_a_quiet_computer():
    assert share(reports(100, 0.003, shift=0.03), "faster") >= 0.75
    assert share(reports(100, 0.003, shift=0.03, rounds=30), "faster") >= 0.9


def test_a_claim_in_the_wrong_direction_is_rarer_than_1_in_1000():
    # Use single comparisons, because without Holm's correction errors are more frequent.
    verdicts = reports(20_000, 0.02, shift=0.03, comparisons=1)
    assert share(verdicts, "faster") * len(verdicts) >= 3000
    assert share(verdicts, "slower") <= 0.001 * share(verdicts, "faster")


def test_two_looks_cry_wolf_no_more_often_than_one():
    """With two looks the error rate stays below its bound, even if a run ends at a difference."""
    rng = np.random.default_rng(11)
    rows = simulate(rng, 1000, 0.05, rounds=30)
    claims, unpaid = set(), set()
    for looks, claimed in ((2, claims), (1, unpaid)):
        for rounds in (ROUNDS, 30):
            part = rows[:, :, :rounds]
            found = stats.compare_rows(part[:, 0], part[:, 1], 1, looks)
            claimed |= {i for i, c in enumerate(found) if stats.verdict(c, c.p) != "~"}
    assert len(claims) <= 50
    assert len(unpaid) > len(claims)


def test_half_a_percent_is_within_the_margin_and_not_claimed():
    assert share(reports(100, 0.001, shift=0.005, outliers=0), "~") == 1


def test_every_boot_must_bear_it_out():
    assert stats.unanimous("faster", [1.1, 1.01, 1.2]) == "faster"
    assert stats.unanimous("faster", [1.1, 0.99, 1.2]) == "~"
    assert stats.unanimous("slower", [0.9, 0.99]) == "slower"
    assert stats.unanimous("slower", [0.9, 1.0]) == "~"
    assert stats.unanimous("~", [1.1]) == "~"


def test_only_rounds_of_the_same_boot_and_place_are_paired():
    before = Series([10.0, 20.0, 40.0], rounds=[(0, 0), (0, 1), (1, 0)])
    after = Series([5.0, 8.0], rounds=[(0, 0), (1, 0)])
    both = comparison.paired(before, after)
    assert (both.before, both.after, both.boots) == ([10.0, 40.0], [5.0, 8.0], [0, 1])
    assert both.by_boot() == [2.0, 5.0]


def test_few_rounds_claim_nothing_even_of_a_double():
    few = stats.FEWEST - 1
    one = stats.compare([2.0] * few, [1.0] * few, 1)
    assert one.p is None
    assert stats.verdict(one, one.p) == "~"


def test_the_fewest_rounds_are_enough_for_a_double_in_a_whole_report_of_two_looks():
    rng = np.random.default_rng(3)
    rows = simulate(rng, 219, 0.003, shift=1.0, rounds=stats.FEWEST, outliers=0)
    found = stats.compare_rows(rows[:, 0], rows[:, 1], 1, looks=2)
    corrected = stats.holm([c.p for c in found])
    assert all(stats.verdict(c, p) == "faster" for c, p in zip(found, corrected))


def test_equal_rounds_are_no_difference():
    one = stats.compare([256.0] * 15, [256.0] * 15, 1)
    assert (one.ratio, one.low, one.high) == (1, 1, 1)
    assert one.p == 1
    assert stats.verdict(one, one.p) == "~"


def test_compare_pairs_only_what_is_from_the_same_round():
    before = [10.0, 20.0, 40.0, 80.0] * 3
    after = [value / 2 for value in before] + [1e9] * 5
    one = stats.compare(before, after, 1)
    assert one.ratio == pytest.approx(2)
    assert (one.low, one.high) == (pytest.approx(2), pytest.approx(2))


def test_direction():
    slow, fast = [200.0 + i for i in range(15)], [100.0 + i for i in range(15)]
    for before, after, word in ((slow, fast, "faster"), (fast, slow, "slower")):
        one = stats.compare(before, after, 1)
        assert stats.verdict(one, one.p) == word


def test_bootstrap_agrees_with_resampling_the_long_way():
    rng = np.random.default_rng(5)
    for rounds in (8, ROUNDS):
        values = rng.lognormal(size=rounds)
        low, high = stats._bootstrap_medians(values, 11)
        picks = np.random.default_rng(11).integers(0, rounds, size=(stats.RESAMPLES, rounds))
        medians = np.median(values[picks], axis=1)
        assert (low, high) == pytest.approx(tuple(np.quantile(medians, [0.025, 0.975])))


def test_holm_by_hand():
    assert stats.holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])
    assert stats.holm([0.9, 0.8]) == [1.0, 1.0]
    assert stats.holm([]) == []


def test_summary_keeps_outliers_and_says_how_many():
    values = [100.0 + i % 5 for i in range(14)] + [1000.0]
    summary = stats.summarise(values, 1)
    assert summary.count == 15
    assert summary.outliers == 1
    assert summary.maximum == 1000
    assert summary.mean == pytest.approx(sum(values) / 15)
    assert summary.trimmed_mean == pytest.approx(sum(values[:14]) / 14)
    assert summary.low <= summary.median <= summary.high < 105


def test_stats_table_shows_every_figure():
    from grader.report.stats_table import stats_table

    sample = {
        "machine": "uml", "metric": "ns", "phase": "compute", "n": 1000, "median": 1234.5,
        "ci95": [1200.25, 1300.0], "count": 15, "mean": 1250.0, "trimmed_mean": 1240.0,
        "min": 99.04, "max": 2345678.0, "outliers": 2,
    }  # fmt: skip
    exact = dict(sample, machine="qemu", metric="instructions", ci95=None, count=1)
    del exact["outliers"]
    report = {
        "machines": [{"name": "uml", "metric": "ns"}, {"name": "qemu", "metric": "instructions"}],
        "stages": [{"number": 5, "samples": [sample, exact]}],
    }
    lines = stats_table(report).splitlines()
    assert lines[0] == "uml, nanoseconds for one call:"
    assert lines[1].split()[:3] == ["stage", "phase", "n"]
    figures = "5 compute 1,000 15 1,234 1,200 - 1,300 1,240 1,250 99.04 2,345,678 2"
    assert lines[2].split() == figures.split()
    assert lines[4] == "qemu, instructions for one call:"
    assert lines[6].split()[4:6] == ["1,234", "-"]
    assert stats_table({"machines": [], "stages": []}) == "Nothing was measured."
