# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tasks are judged by the method that a stage teaches, and by it alone: slow is good enough.

The faults of tests/faults/ that are found by "ideas" are right results by another method than the
stage teaches, or by its method, done slowly (`slow`). `files` is the stage whose files are taken,
if not its own; `beside` a stage and a file of it that is taken as well; `earns` is what all tasks
come to. With the device, the files of the stage before earn 40 points at most, and what is slow 60
at least.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import catalogue
import pytest
from catalogue import Fault

from grader.base import paths
from grader.base.finding import Finding
from grader.course import check
from grader.exercise.files import exercises, stages, tasks
from grader.exercise.files.tasks import Count, Idea
from grader.exercise.operations import ideas
from grader.exercise.operations.ideas import Counted


def handed_in(fault: Fault, folder: Path) -> Path:
    """The files, as a copy of the fault's stage."""
    copy = folder / f"{fault.stages[0]}-{fault.name.replace(' ', '-')}"
    if "files" in fault.options:
        shutil.copytree(stages.kit(fault.options["files"]).directory, copy)
    else:
        catalogue.plant(fault, folder).rename(copy)
    if "beside" in fault.options:
        number, file = fault.options["beside"]
        shutil.copy(stages.kit(number).directory / file, copy / file)
    return copy


@pytest.mark.machine
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(one, id=one.title, marks=[pytest.mark.long] if "long" in one.options else [])
        for one in catalogue.found_by("ideas")
    ],
)
def test_a_method_earns(fault: Fault, tmp_path: Path) -> None:
    exercise = exercises.find(fault.stages[0])
    lines = check.task_lines(exercise, handed_in(fault, tmp_path), 7)
    earned = sum(line.earned for line in lines)
    assert earned == fault.options["earns"], [line.remark for line in lines]
    # With the device, and nothing for speed.
    whole = earned + exercise.course.device_points
    assert whole >= 60 or "slow" not in fault.options
    assert whole <= 40 or "files" not in fault.options


def test_the_handout_states_what_slow_code_keeps() -> None:
    text = (paths.ROOT / "handouts/README.md").read_text()
    stated = dict(re.findall(r"^\| (\d+) \| .* \| \d+ \| (\d+) \|$", text, re.M))
    for number in stages.manifests():
        speed = tasks.course(number).speed
        if number > 1:
            assert int(stated[str(number)]) == 100 - (speed.points if speed else 0)


@pytest.mark.parametrize(
    ("most", "square", "holds"),
    [(0.8, 79, True), (0.8, 81, False), (0, 0, True)],
)
def test_a_ratio_is_held_against_its_bound(most: float, square: int, holds: bool) -> None:
    takes, of = Count("square", 64), Count("mul", 64)
    idea = Idea("half of the products", takes, of, most, "instructions", 20)
    said = ideas.unmet(idea, {takes: Counted(square, 0), of: Counted(100, 0)})
    assert bool(said) is not holds


def test_a_call_that_was_wrong_follows_no_idea() -> None:
    takes = Count("add", 16)
    idea = Idea("in place", takes, None, 0, "allocations", 20)
    assert ideas.unmet(idea, {takes: Finding("wrong", "add of 16 words is wrong")})
