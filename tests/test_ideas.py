# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that a task is judged only by whether it uses the taught method, even if it is slow.

Faults of tests/faults/ with by = "ideas" compute right results by another method than the stage
teaches, or slowly by its method (`slow`). `files` names another stage whose files are used,
`beside` a stage and one of its files to add, and `earns` the expected points of all tasks. No
remark may match `silent`. The files of the previous stage earn no points. Including the points for
the device, a slow solution earns at least 40.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import catalogue
import pytest
from catalogue import Fault

from grader.base.finding import Finding
from grader.exercise.files import exercises, stages, tasks
from grader.exercise.files.tasks import CountedCall, Idea, Plain, Task
from grader.exercise.operations import ideas, unit_tests
from grader.exercise.operations.ideas import OperationCost
from grader.exercise.operations.unit_tests import OperationOutcome
from grader.lab import machines
from grader.scoring import par, pipeline, points
from grader.scoring.points import Line


def handed_in(fault: Fault, folder: Path) -> Path:
    """Return a copy of the fault's stage as a student would submit it."""
    copy = folder / f"{fault.stages[0]}-{fault.name.replace(' ', '-')}"
    if "files" in fault.options:
        shutil.copytree(stages.kit(fault.options["files"]).directory, copy)
    else:
        catalogue.plant(fault, folder).rename(copy)
    if "beside" in fault.options:
        number, file = fault.options["beside"]
        shutil.copy(stages.kit(number).directory / file, copy / file)
    return copy


@pytest.mark.sampled
@pytest.mark.once
@pytest.mark.machine
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(one, id=one.title, marks=[pytest.mark.long] if "long" in one.options else [])
        for one in catalogue.found_by("ideas")
    ],
)
def test_a_method_earns(fault: Fault, tmp_path: Path) -> None:
    course, directory = exercises.find(fault.stages[0]).course, handed_in(fault, tmp_path)
    stage = stages.single(directory, directory.name, fault.stages[0])
    tried = pipeline.try_operations(stage, 7)
    lines = points.task_lines(course, tried)
    earned = sum(line.earned for line in lines)
    assert earned == fault.options["earns"], [line.remark for line in lines]
    whole = points.limited(
        course, tried, Line("device", course.device_points, course.device_points, "all right")
    )
    assert whole.earned == fault.options.get("device", whole.earned), whole.remark
    remarks = "\n".join(line.remark for line in (*lines, whole))
    assert re.search(catalogue.expected_text(fault), remarks), remarks
    assert not re.search(fault.options.get("silent", "$^"), remarks), remarks
    assert earned == 0 or "files" not in fault.options
    # These are the points for the tasks and the device, without the points for speed.
    device = course.device_points * earned // sum(line.possible for line in lines)
    assert earned + device >= 40 or "slow" not in fault.options


def idea(least: int, most: int, unit: str = "products") -> Idea:
    plain = Plain(5, CountedCall("mul", 64))
    return Idea("half of the products", CountedCall("square", 64), least, most, unit, 20, plain)


@pytest.mark.parametrize(
    ("took", "said"),
    [
        (79, "79 products; expected at least 80, because half of the products"),
        (80, ""),
        (90, ""),
        (91, "expected at most 90"),
    ],
)
def test_a_count_is_held_against_its_bounds(took: int, said: str) -> None:
    unmet = ideas.unmet(idea(80, 90), {CountedCall("square", 64): (OperationCost(1000, took, 0),)})
    assert bool(unmet) is bool(said) and said in unmet


def test_a_call_that_was_wrong_follows_no_idea() -> None:
    takes = CountedCall("square", 64)
    assert ideas.unmet(
        idea(0, 0, "allocations"), {takes: (Finding("wrong", "square of 64 words is wrong"),)}
    )


def test_a_wrong_call_of_several_ideas_is_reported_once() -> None:
    both = (idea(0, 80), replace(idea(0, 1, "allocations"), text="no new number"))
    task = Task(1, "square", "", "square", 40, (), (), both)
    counts = {CountedCall("square", 64): (Finding("wrong", "square of 64 words is wrong"),)}
    judged = unit_tests.with_ideas(OperationOutcome(True, False, 90), task.ideas, counts)
    assert (judged.idea, judged.withheld) == ("square of 64 words is wrong", 40)


@pytest.mark.parametrize(
    ("own", "plain", "said"),
    [
        (60, 100, ""),
        (81, 100, "does not meet the bound"),
        (60, 80, "the plain method meets it, too"),
    ],
)
def test_a_bound_lies_between_the_kits_method_and_the_plain_one(
    own: int, plain: int, said: str
) -> None:
    kit, other = (OperationCost(0, own, 0),), (OperationCost(0, plain, 0),)
    found = ideas.inconsistent(idea(0, 80), kit, other)
    assert bool(found) is bool(said) and said in found


def test_a_bound_follows_the_size_of_the_call() -> None:
    call = CountedCall("square", 64, least=16, sizes=2)
    quadratic = replace(idea(0, 6400), takes=call, grows=2.0)
    costs = [OperationCost(0, took, 0, at=CountedCall("square", 32)) for took in (1600, 1601)]
    assert ideas.unmet(quadratic, {call: (costs[0],)}) == ""
    message = ideas.unmet(quadratic, {call: tuple(costs)})
    assert message.startswith("square of 32 words takes 1,601 products; expected at most 1,600")
    assert replace(quadratic, fixed=400).bounds(CountedCall("square", 32)) == (0, 400 + 6000 // 4)


def test_a_seed_draws_sizes_from_the_whole_range() -> None:
    call = CountedCall("mul", 512, 300, least=128, sizes=2)
    found = [call.drawn(seed) for seed in range(200)]
    assert found[3] == call.drawn(3)
    assert all(128 <= low.size <= 256 <= high.size <= 512 for low, high, _ in found)
    assert all(last.size == 512 for _, _, last in found)
    assert len({one.size for drawn in found for one in drawn}) > 150
    assert all(one.second == 300 for drawn in found for one in drawn)
    assert [one.size for one in call.drawn(None)][::6] == [128, 512]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (b'asm("mulq %3" : "=a"(low))', b'asm("ds mulq %3" : "=a"(low))'),
        (b'asm volatile("mov %1, %0\\n\\tmulq %2"', b'asm volatile("mov %1, %0\\n\\tds mulq %2"'),
        (b'__asm__ ("mov %1, %0; "\n"imul %2"', b'__asm__ ("mov %1, %0; "\n"ds imul %2"'),
        (b'asm("addq %[mul], %0" : "+r"(mul))', b'asm("addq %[mul], %0" : "+r"(mul))'),
        (b"a mul b", b"a mul b"),
    ],
)  # fmt: skip
def test_multiplications_in_assembly_are_marked(statement: bytes, expected: bytes) -> None:
    assert ideas.marked(statement) == expected


@pytest.mark.once
@pytest.mark.machine
def test_all_bounds_tell_the_kits_method_from_the_plain_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`make par` reports a bound if the kit's own stage exceeds it."""
    machine = machines.counting()
    assert par.ambiguous_ideas(machine, lambda _: None, range(1, 10)) == []
    course = tasks.course(5)
    assert course.tasks[2].operation == "square"
    low = replace(course.tasks[2], ideas=(idea(0, 8255),))
    changed = replace(course, tasks=(low,))
    monkeypatch.setattr(tasks, "course", lambda number: changed)
    (said,) = par.ambiguous_ideas(machine, lambda _: None, [5])
    # The square of 128 limbs of 32 bits needs 128 * 129 / 2 products, and no other code multiplies.
    assert "square of 64 words takes 8,256 products; expected at most 8,255" in said
