# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tasks are judged by the method that a stage teaches, and by it alone: slow is good enough."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from grader.base import paths, toml
from grader.base.finding import Finding
from grader.course import check
from grader.exercise.files import stages, tasks
from grader.exercise.files.tasks import Count, Idea
from grader.exercise.operations import ideas
from grader.exercise.operations.ideas import Counted
from tests.test_promises import edited

ROWS = toml.read(paths.ROOT / "tests/mutants/ideas.toml")
SHORT = ("loop-for-fast-doubling", "product-for-square", "schoolbook-for-karatsuba")


def handed_in(name: str, folder: Path) -> stages.Stage:
    """The files of a row, as a copy of its stage."""
    row = ROWS[name]
    copy = folder / f"{row['stage']}-{name}"
    shutil.copytree(stages.kit(row["files"]).directory, copy)
    if "beside" in row:
        number, file = row["beside"]
        shutil.copy(stages.kit(number).directory / file, copy / file)
    if "file" in row:
        source = copy / row["file"]
        source.write_text(edited(row, source.read_text()))
    return stages.single(copy, copy.name)


@pytest.mark.machine
@pytest.mark.parametrize(
    "name",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in ROWS],
)
def test_a_method_earns(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    course = tasks.course(row["stage"])
    lines = check.task_lines(handed_in(name, tmp_path), course, 7)
    earned = sum(line.earned for line in lines)
    assert earned == row["earns"], [line.remark for line in lines]
    # With the device, and nothing for speed.
    whole = earned + course.device_points
    assert whole >= 60 or not row.get("slow")
    assert whole <= 40 or row["files"] == row["stage"]


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
