# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test skeletons against solutions: none contains a solution, and each solved task earns points.

test_skeletons.py, which students also get, tests skeletons without their solutions.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from test_skeletons import place

from grader.course import check, skeleton
from grader.exercise.files import exercises, stages, tasks
from grader.exercise.operations import test_program, unit_tests

__all__ = ["place"]

STAGES = sorted(stages.manifests())


def all_tasks(stage: int) -> frozenset[int]:
    return frozenset(task.number for task in tasks.course(stage).tasks)


def as_stage(directory: Path, number: int) -> stages.Stage:
    return stages.single(directory, f"skeleton-{directory.name}", number)


def task_points(directory: Path, number: int) -> list[int]:
    return [line.earned for line in check.task_lines(exercises.find(number), directory, 7)]


@pytest.mark.parametrize("number", STAGES)
def test_with_all_tasks_solved_it_is_the_reference(number: int) -> None:
    directory = skeleton.reference(number)
    made = skeleton.sources(number, all_tasks(number))
    for name, text in made.items():
        assert text == (directory / name).read_text()


@pytest.mark.parametrize("number", STAGES)
def test_no_line_of_a_solution_is_left(number: int) -> None:
    solved = skeleton.sources(number, all_tasks(number))
    bare = skeleton.sources(number)
    for task in tasks.course(number).tasks:
        for part in task.parts:
            there = skeleton.span(solved[part.file], part.function, "")
            body = solved[part.file][there.body : there.end]
            # Compare only long lines, because short ones occur in any function.
            telling = {line.strip() for line in body.splitlines() if len(line.strip()) > 24} - {
                line.strip() for line in (part.stub or "").splitlines()
            }
            whole = {line.strip() for line in bare[part.file].splitlines()}
            elsewhere = solved[part.file].replace(body, "")
            given = {line.strip() for line in elsewhere.splitlines()}
            assert not (telling - given) & whole, f"task {task.number}"


@pytest.mark.once
@pytest.mark.parametrize(
    "number",
    [n if n in (1, 5) else pytest.param(n, marks=pytest.mark.long) for n in STAGES],
)
def test_each_task_solved_earns_its_points(number: int, place: Path) -> None:
    asked = tasks.course(number).tasks
    before = 0
    for last in range(1, len(asked) + 1):
        solved = frozenset(range(1, last + 1))
        directory = skeleton.write(number, place / str(last), solved)
        points = task_points(directory, number)
        assert points[last - 1] == asked[last - 1].points
        assert sum(points) > before
        before = sum(points)
    assert before == sum(task.points for task in asked)


def test_an_endless_loop_ends(place: Path) -> None:
    directory = skeleton.write(1, place, all_tasks(1))
    text = (directory / "fib.c").read_text()
    (directory / "fib.c").write_text(text.replace("i < n; i++", "i < n || n > 50; i++"))
    stage = as_stage(directory, 1)
    outcome = unit_tests.outcome(stage, test_program.program(stage), "compute", 1)
    assert outcome.fault.startswith("F(51)")
    assert outcome.fault.endswith("no answer within 2 s: an endless loop?")
    assert outcome.small


def test_a_comment_that_gives_the_solution_away_goes_too() -> None:
    assert "Lucas" in skeleton.sources(7, all_tasks(7))["fib.c"]
    bare = skeleton.sources(7)["fib.c"]
    assert "Lucas" not in bare
    above = "/* Return a capacity for every number in the computation of F(n). */"
    assert f"{above}\nstatic size_t" in bare
