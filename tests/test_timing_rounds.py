# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test the number of timed rounds, and the number of repeated calls in a round."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest

from grader.base.errors import LabError
from grader.exercise.build import stage_module
from grader.exercise.files import stages
from grader.exercise.workload.stage_workload import StageWorkload, contents
from grader.lab.machines import Machine
from grader.measure import comparison, stats, timing
from grader.measure.guest_session import GuestSession, Measurements
from grader.measure.samples import Series
from grader.measure.timing import RoundPlan
from grader.measure.workload import Reading, TimedWorkload, Work


def series(scatter: float, ratio: float, count: int = 15, seed: int = 1) -> tuple[Series, Series]:
    """Return the rounds of two workloads in five boots, with times of about 100 ns."""
    rng = random.Random(seed)
    rounds = [(i % 5, i // 5) for i in range(count)]
    values = [
        [mean * rng.lognormvariate(0, scatter) for _ in rounds] for mean in (100 * ratio, 100)
    ]
    return Series(values[0], rounds=rounds), Series(values[1], rounds=rounds)


@pytest.mark.parametrize(
    "scatter, ratio, maybe",
    [
        (0.003, 1.0, False),  # There is no significant difference.
        (0.003, 1.3, False),  # The difference is already clear.
        (0.1, 3.0, False),
        (0.08, 1.08, True),
        (0.08, 1 / 1.08, True),
    ],
)
def test_what_is_decided_or_hopeless_gets_no_more_rounds(
    scatter: float, ratio: float, maybe: bool
) -> None:
    pairs = [series(scatter, ratio, seed=seed) for seed in range(20)]
    compared = comparison.compare("ns", pairs, 1, looks=timing.LOOKS)
    found = comparison.undecided(compared, stats.MARGIN, timing.WHOLE.growth)
    assert (sum(found) >= 15) if maybe else not any(found)


class FakeSubject:
    """A workload with given times for a call. Its module is never loaded."""

    phases: tuple[str, ...] = ("compute",)
    wholes: Mapping[str, tuple[str, ...]] = {}
    sizes = (10, 20)

    def __init__(self, key: str) -> None:
        self.key = key


def measured_by(
    monkeypatch: pytest.MonkeyPatch, effort: timing.SamplingPlan, undecided: set[tuple[str, int]]
) -> tuple[Measurements, list[list[str]]]:
    """Measure three workloads without a machine. Return the results and each boot's workloads."""
    boots: list[list[str]] = []

    def in_turn(
        _machine: Machine,
        running: Sequence[Any],
        _contents: object,
        work: Callable[[GuestSession, Sequence[Any]], Measurements],
        _what: str,
    ) -> Measurements:
        boots.append(sorted(subject.key for subject in running))
        return work(cast(GuestSession, None), running) if running else Measurements()

    def planned(*_: object) -> list[RoundPlan]:
        return [RoundPlan(10, 10, 15, second=4), RoundPlan(20, 1, 9, second=1)]

    def ask(
        _turn: GuestSession,
        _subject: TimedWorkload,
        wanted: Sequence[tuple[int, int]],
        _rng: random.Random,
    ) -> list[Reading]:
        zero = {"compute": 0}
        return [
            Reading({"compute": 1000 * repeat}, zero, 0, 1000 * repeat, own_ns=0, bare=True)
            for _, repeat in wanted
        ]

    monkeypatch.setattr(timing, "_plan", planned)
    monkeypatch.setattr(timing, "_ask", ask)
    monkeypatch.setattr(timing.guest_session, "in_turn", in_turn)
    monkeypatch.setattr(timing.guest_session, "no_complaint", lambda _turn: None)
    subjects = [cast(TimedWorkload, FakeSubject(key)) for key in "abc"]
    measured = timing.measure(
        cast(Machine, None),
        subjects,
        cast(Any, None),
        1,
        lambda *_: None,
        effort,
        undecided=lambda _samples: undecided,
    )
    return measured, boots


def test_only_what_is_undecided_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    again = {("a", 10), ("b", 10), ("b", 20)}
    found, boots = measured_by(monkeypatch, timing.SamplingPlan(15, second=4), again)
    assert boots == [["a", "b", "c"]] * 5 + [["a", "b"]] * 5
    counts = {(key, n): len(one.values) for (key, _, n), one in found.samples.items()}
    assert counts == {
        ("a", 10): 15 + 20, ("a", 20): 9, ("b", 10): 15 + 20, ("b", 20): 9 + 5,
        ("c", 10): 15, ("c", 20): 9,
    }  # fmt: skip
    for one in found.samples.values():
        # Values with the same (boot, round) are compared, so this key must be unique.
        assert len(set(one.rounds)) == len(one.rounds)
        assert {boot for boot, _ in one.rounds} == set(range(5))


def test_when_all_is_decided_no_machine_boots_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(measured_by(monkeypatch, timing.SamplingPlan(15, second=4), set())[1]) == 5
    assert len(measured_by(monkeypatch, timing.SamplingPlan(15), {("a", 10)})[1]) == 5


def test_the_second_look_ends_by_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even with a time limit of 0, each boot makes a round, whose time is not known before."""
    effort = timing.SamplingPlan(15, second=4, seconds=0)
    found, _ = measured_by(monkeypatch, effort, {("a", 10)})
    assert len(found.samples["a", "compute", 10].values) == 15 + 5


@pytest.mark.parametrize("repeat", [1, 2, 3, 9, 10, 11, 25, 12_345])
def test_a_few_repetitions_are_single_ones(repeat: int) -> None:
    plan = RoundPlan(100, repeat, 15)
    assert plan.batches == min(repeat, timing.BATCHES)
    assert 0 <= repeat - plan.batches * plan.each < plan.batches


def test_who_is_compared_repeats_as_often() -> None:
    plans = {
        "a": [RoundPlan(10, 900, 15), RoundPlan(10_000, 11, 15)],
        "b": [RoundPlan(10, 1000, 15)],
    }
    plans["b"].append(RoundPlan(10_000, 21, 12))
    same = [RoundPlan(10, 1000, 15), RoundPlan(10_000, 21, 12)]
    assert timing._alike(plans) == {"a": same, "b": same}


def test_a_slow_one_is_not_repeated_as_often_as_a_fast_one() -> None:
    plans = {"slow": [RoundPlan(10, 900, 15), RoundPlan(10_000, 2, 8)]}
    plans["fast"] = [RoundPlan(10, 1000, 15), RoundPlan(10_000, 300, 15)]
    made = timing._alike(plans)
    assert made["slow"] == [RoundPlan(10, 1000, 15), plans["slow"][1]]
    assert made["fast"] == [RoundPlan(10, 1000, 15), plans["fast"][1]]


class FakeTurn:
    """A session on a fake machine with a given clock resolution and given times for calls."""

    def __init__(self, step: int, costs: Mapping[int, Mapping[str, float]]) -> None:
        self.step, self.costs = step, costs
        self.rng = random.Random(3)

    def ask(self, _subject: TimedWorkload, works: Sequence[Work]) -> list[Reading]:
        """Return the time of each call as the difference of two clock readings."""
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
    ids=["short", "two", "mixed_fpu_state", "long"],
)
def test_the_batch_is_chosen_by_the_clock_s_resolution(
    step: int, costs: Mapping[int, Mapping[str, float]]
) -> None:
    """A batch lasts at least 100 times the clock resolution, unless a round would take too long."""
    turn = FakeTurn(step, costs)
    subject = cast(Any, type("S", (), {"sizes": tuple(costs), "spread": lambda _self, _n: 0})())
    plans = timing._plan(cast(GuestSession, turn), subject, random.Random(1), timing.WHOLE)
    for plan in plans:
        each = costs[plan.n]
        longest = 20 * timing.BATCH_NS + sum(each.values())
        assert plan.repeat * sum(each.values()) <= 1.5 * longest + 20 * step
        enough = plan.each * min(each.values()) >= 0.8 * timing.STEPS * step
        assert enough or plan.batches == 1
        if timing.STEPS * step * sum(each.values()) < longest * min(each.values()) / 2:
            assert enough


@pytest.mark.machine
def test_no_batch_is_too_short_for_this_machine_s_clock(uml: Machine) -> None:
    """The shortest batch of a real measurement is long enough for the clock resolution."""
    built = stage_module.build(stages.kit(8), uml.kernel())
    if built.rejection:
        raise LabError(built.rejection, "correct the source")
    subject = StageWorkload(built, (100, 10_000))
    session: list[Reading] = []
    ask = timing._ask

    def noted(*words: Any) -> list[Reading]:
        session.extend(found := ask(*words))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "_ask", noted)
        measured = timing.measure(
            uml, [subject], contents, 1, lambda *_: None, timing.SamplingPlan(5, boots=1)
        )
    assert not measured.findings
    step = math.gcd(*(ns for reading in session for ns in reading.ns.values()))
    for series in measured.samples.values():
        assert series.shortest_batch >= 0.8 * timing.STEPS * step
