# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How many rounds the clock takes, and how often it repeats a call in one."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from grader.base.errors import LabError
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.exercise.workload.stage_workload import StageSubject, contents
from grader.lab.machines import Machine
from grader.rulers import clock
from grader.rulers.clock import Plan
from grader.rulers.frame import Turn
from grader.rulers.subject import Reading, Subject, Work


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


class FakeTurn:
    """A turn on a machine whose clock moves in steps, and whose calls take as long as is said."""

    def __init__(self, step: int, costs: Mapping[int, Mapping[str, float]]) -> None:
        self.step, self.costs = step, costs
        self.rng = random.Random(3)

    def ask(self, _subject: Subject, works: Sequence[Work]) -> list[Reading]:
        """Answer by the clock's value at the end less that at the begin."""
        return [
            Reading(
                {name: self.timed(work.repeat * ns) for name, ns in self.costs[work.n].items()},
                {}, 0, outside_ns=0, own_ns=0, bare=True,
            )
            for work in works
        ]  # fmt: skip

    def timed(self, ns: float) -> int:
        begin = self.rng.uniform(0, self.step)
        return int((begin + ns) // self.step) * self.step


@pytest.mark.parametrize("step", [1, 256, 1000, 10_000])
@pytest.mark.parametrize(
    "costs",
    [
        {10: {"compute": 12.0, "decimal": 40.0}},
        {10: {"compute": 12.0, "decimal": 40.0}, 1000: {"compute": 900.0, "decimal": 9000.0}},
        {100_000: {"compute": 3e6, "decimal": 30_000.0}},
        {100_000: {"compute": 2e7, "decimal": 7e6}},
    ],
    ids=["short", "two", "unlike", "long"],
)
def test_the_batch_is_chosen_by_the_clock_s_resolution(
    step: int, costs: Mapping[int, Mapping[str, float]]
) -> None:
    """Measure a hundred steps in each batch, if a round is not too long for that in all."""
    turn = FakeTurn(step, costs)
    subject = cast(Any, type("S", (), {"sizes": tuple(costs), "spread": lambda _self, _n: 0})())
    plans = clock._plan(cast(Turn, turn), subject, random.Random(1), clock.WHOLE)
    for plan in plans:
        each = costs[plan.n]
        longest = 20 * clock.BATCH_NS + sum(each.values())
        assert plan.repeat * sum(each.values()) <= 1.5 * longest + 20 * step
        enough = plan.each * min(each.values()) >= 0.8 * clock.STEPS * step
        assert enough or plan.batches == 1
        if clock.STEPS * step * sum(each.values()) < longest * min(each.values()) / 2:
            assert enough


@pytest.mark.machine
def test_no_batch_is_too_short_for_this_machine_s_clock(uml: Machine) -> None:
    """Compare the shortest batch of a real measurement with the steps that its figures show."""
    built = stage_module.build(stages.kit(8), uml.kernel())
    if built.objection:
        raise LabError(built.objection)
    subject = StageSubject(built, (100, 10_000))
    session: list[Reading] = []
    ask = clock._ask

    def noted(*words: Any) -> list[Reading]:
        session.extend(found := ask(*words))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "_ask", noted)
        measured = clock.measure(
            uml, [subject], contents, 1, lambda *_: None, clock.Effort(5, boots=1)
        )
    assert not measured.findings
    step = math.gcd(*(ns for reading in session for ns in reading.ns.values()))
    for series in measured.samples.values():
        assert series.shortest_batch >= 0.8 * clock.STEPS * step
