# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How many rounds the clock takes, and how often it repeats a call in one."""

from __future__ import annotations

import random

import pytest

from grader.rulers import clock
from grader.rulers.clock import Plan


def rounds(scatter: float, count: int, seed: int = 1) -> list[list[float]]:
    """Some series of rounds around 100 ns."""
    rng = random.Random(seed)
    return [[100 * rng.lognormvariate(0, scatter) for _ in range(count)] for _ in range(12)]


@pytest.mark.parametrize("scatter, few, enough", [(0.02, 1, 4), (0.05, 8, 32), (0.1, 30, 160)])
def test_rounds_that_scatter_need_more_of_them(scatter: float, few: int, enough: int) -> None:
    # (One round alone says nothing: every series is at its own median.)
    assert not clock.settled(rounds(scatter, few))
    assert clock.settled(rounds(scatter, enough))


def test_an_odd_round_alone_is_no_scatter() -> None:
    values = rounds(0.002, 4)
    for some in values:
        some[2] *= 1.6
    assert clock.settled(values)


def test_a_long_n_with_few_rounds_does_not_hold_up_the_others() -> None:
    values = rounds(0.002, 3)
    values[0] = values[0][:1]
    assert clock.settled(values)
    assert not clock.settled([some[:1] for some in values])


@pytest.mark.parametrize("repeat", [1, 2, 3, 9, 10, 11, 25, 12_345])
def test_a_few_repetitions_are_single_ones(repeat: int) -> None:
    plan = Plan(100, repeat, 15)
    assert plan.batches == min(repeat, clock.BATCHES)
    assert 0 <= repeat - plan.batches * plan.each < plan.batches


def test_who_is_compared_repeats_as_often() -> None:
    plans = {"a": [Plan(10, 900, 15), Plan(10_000, 11, 15)], "b": [Plan(10, 1000, 15)]}
    plans["b"].append(Plan(10_000, 21, 12))
    same = [Plan(10, 1000, 15), Plan(10_000, 21, 12)]
    assert clock._alike(plans) == {"a": same, "b": same}


def test_a_slow_one_is_not_repeated_as_often_as_a_fast_one() -> None:
    plans = {"slow": [Plan(10, 900, 15), Plan(10_000, 2, 8)]}
    plans["fast"] = [Plan(10, 1000, 15), Plan(10_000, 300, 15)]
    made = clock._alike(plans)
    assert made["slow"] == [Plan(10, 1000, 15), plans["slow"][1]]
    assert made["fast"] == [Plan(10, 1000, 15), plans["fast"][1]]
