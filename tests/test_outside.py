# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a stage says of its work is held against its caller's clocks."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from grader.base import paths, toml
from grader.lab import machines
from grader.rulers import counter, outside
from grader.rulers.subject import Reading, WrongAnswer
from grader.stage import build, stages
from grader.stage.measured import StageSubject, contents
from grader.verdict import par

MUTANTS = paths.ROOT / "tests/mutants"
EXPECTED = toml.read(MUTANTS / "expected.toml")
COUNTED = {name: row["counted"] for name, row in EXPECTED.items() if "counted" in row}


@pytest.mark.machine
def test_a_stage_that_reaches_for_the_stopwatch_is_out() -> None:
    """Each way is found, by name, and nothing that it says is a figure."""
    machine = machines.get("qemu")
    subjects = []
    for stage in stages.find(MUTANTS, [1]):
        if stage.key in COUNTED:
            built = build.build(stage, machine.kernel())
            assert not built.objection, built.objection
            subjects.append(StageSubject(built, driver=par.driver_work(machine)))
    assert len(subjects) == len(COUNTED) >= 4
    measured = counter.count(machine, subjects, subjects, contents, 1, lambda *_: None)
    for name, said in COUNTED.items():
        finding = measured.findings[name]
        assert finding.status == "wrong"
        assert re.search(said, finding.cause), finding.cause
    assert not measured.samples


def reading(repeat: int, compute: float = 600, decimal: float = 400, **other: float) -> Reading:
    """An honest one, unless another outside says otherwise."""
    cycles = {"compute": int(compute * repeat), "decimal": int(decimal * repeat)}
    own = 200.0 * repeat
    whole = Reading(
        {phase: count // 3 for phase, count in cycles.items()},
        cycles,
        {"compute": 0, "decimal": 0},
        0,
        outside_cycles=int(sum(cycles.values()) + own + 5000),
        outside_ns=int(sum(cycles.values()) // 3 + 60_000),
        own=own,
        own_ns=own / 4,
    )
    return replace(whole, **other)


def test_an_honest_one_fits() -> None:
    outside.check_counts(93, [(1000, reading(1000)), (500, reading(500))])
    outside.check_lone(93, "compute", 602.0, 1000, reading(1000), 0)


@pytest.mark.parametrize("share", [0.98, 0.5, 1.02])
def test_two_percent_less_or_more_do_not(share: float) -> None:
    short, long = reading(500), reading(1000)
    told = [
        replace(r, cycles={k: int(v * share) for k, v in r.cycles.items()}) for r in (long, short)
    ]
    with pytest.raises(WrongAnswer) as error:
        outside.check_counts(93, [(1000, told[0]), (500, told[1])])
    assert "1000 times against 500" in error.value.finding.cause


def test_what_is_taken_off_once_is_seen() -> None:
    told = []
    for repeat in (1000, 500):
        honest = reading(repeat)
        told.append(
            (repeat, replace(honest, cycles={**honest.cycles, "compute": 600 * repeat - 50_000}))
        )
    with pytest.raises(WrongAnswer):
        outside.check_counts(93, told)


def test_one_call_alone_is_held_to_what_it_takes() -> None:
    call = reading(1, 3e6, 1e6, bare=True)
    outside.check_counts(30_000, [(1, call)])
    for share in (0.98, 1.02):
        told = replace(call, cycles={k: int(v * share) for k, v in call.cycles.items()})
        with pytest.raises(WrongAnswer):
            outside.check_counts(30_000, [(1, told)])


def test_what_moves_from_one_phase_to_the_other_is_seen() -> None:
    moved = reading(1000, 560, 440)
    outside.check_counts(93, [(1000, moved), (500, reading(500, 560, 440))])
    with pytest.raises(WrongAnswer):
        outside.check_lone(93, "compute", 600.0, 1000, moved, 0)


def test_one_allocation_among_many_calls_explains_little() -> None:
    """A batch that finds its result again allocates once; one that does not, every time."""
    for allocations, right in ((16, True), (1, False)):
        some = reading(16, 1600, 400, allocations={"compute": allocations, "decimal": 0})
        if right:
            outside.check_lone(93, "compute", 2900.0, 16, some, 0)
        else:
            with pytest.raises(WrongAnswer):
                outside.check_lone(93, "compute", 2900.0, 16, some, 0)


def test_times_fit_coarsely() -> None:
    honest = reading(20_000)
    assert outside.times_fit([honest], 20_000)
    hidden = replace(honest, ns={phase: ns // 5 for phase, ns in honest.ns.items()})
    assert not outside.times_fit([hidden], 20_000)
    # Whoever says more than there was is wrong as well.
    assert not outside.times_fit([replace(honest, outside_ns=sum(honest.ns.values()) // 2)], 20_000)
    outside.check_times(93, [True] * 8 + [False] * 7, [honest] * 15)
    with pytest.raises(WrongAnswer, match=r"the time of F\(93\), in 8 of 15 rounds"):
        outside.check_times(93, [True] * 7 + [False] * 8, [honest] * 15)
