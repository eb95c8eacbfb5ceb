# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that the verdict names the wrong function of a task, and that hints begin with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base import paths, processor, scratch
from grader.course import commands, records, results, skeleton
from grader.course.check import CheckResult
from grader.exercise.files import exercises, stages, tasks
from grader.exercise.files.tasks import Task, TaskFunction
from grader.exercise.operations import alone, unit_tests
from grader.scoring import pipeline, points
from grader.scoring.points import Line

STAGES = [number for number in sorted(stages.manifests()) if number]
# The functions that a learner writes: functions of a task, and helper functions that it needs.
WRITTEN = [
    (number, task.number, function)
    for number in STAGES
    for task in tasks.course(number).tasks
    for function in (*(p.function for p in task.parts if p.stub is not None), *task.uses)
]
# This limbs_lshift, a copy of stage 3's function, processes limbs in ascending order, so it
# overwrites limbs that it still needs.
WRONG_USES = {
    "limbs_lshift": "limb_t high = 0;\n\nfor (size_t i = 0; i < size; i++) {\n"
    "\tdlimb_t two = (dlimb_t)a[i] << shift | high;\n\n\tc[i] = two;\n\thigh = two >> LIMB_BITS;\n"
    "}\nreturn high;"
}
SOME = {(4, "limbs_lshift"), (4, "fib_odd"), (9, "bn_decrease")}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    scratch.remove_all()


def broken(number: int, task: Task, function: str, place: Path) -> Path:
    """Return a solved copy in which one function is still a stub."""
    directory = skeleton.write(number, place, frozenset(range(1, 20)))
    found = [part for part in task.parts if part.function == function]
    part = found[0] if found else TaskFunction("bignum.c", function, WRONG_USES[function], "")
    path = directory / part.file
    stub = replace(part, above="")
    path.write_text(skeleton.stubbed(path.read_text(), stub, "left out", str(path)))
    return directory


def first_wrong(number: int, directory: Path) -> tuple[Line, str]:
    """Return the first line that lost points, and the next step."""
    stage = stages.single(directory, directory.name, number)
    tried = pipeline.try_operations(stage, 1, with_ideas=False)
    lines = tuple(points.task_lines(tasks.course(number), tried))
    step = results.next_step(CheckResult(str(number), str(directory), lines))
    return next(line for line in lines if not line.full), step


@pytest.mark.parametrize(
    ("number", "task", "function"),
    [
        pytest.param(*one, marks=[] if (one[0], one[2]) in SOME else pytest.mark.long)
        for one in WRITTEN
    ],
)
def test_the_verdict_names_the_only_function_that_is_wrong(
    number: int, task: int, function: str, tmp_path: Path
) -> None:
    """The next step names the line of the wrong function.

    If the task has several functions, the remark also names the wrong one.
    """
    asked = tasks.course(number).tasks[task - 1]
    if asked.operation in ("digit-sum", "fft") and not processor.has_vectors():
        pytest.skip("no AVX2")
    directory = broken(number, asked, function, tmp_path)
    wrong, step = first_wrong(number, directory)
    several = sum(part.stub is not None for part in asked.parts) > 1
    assert wrong.task <= task
    if wrong.task < task:  # In stage 11, the product of task 5 calls functions of task 7.
        assert "and in what it calls" in wrong.remark, wrong.remark
        return
    if several or function in asked.uses:
        assert re.search(rf"\b{function}\b", wrong.remark), wrong.remark
        assert wrong.function == function
    found = re.search(r" at \S*/([\w.]+):(\d+); ", step)
    assert found, step
    line = (directory / found[1]).read_text().splitlines()[int(found[2]) - 1]
    assert re.search(rf"\b{function}\(", line), step


@pytest.mark.parametrize("number", STAGES)
def test_functions_of_one_task_have_hints_and_tests(number: int) -> None:
    """All functions have tests except those that the tests of operations call by their names."""
    for task in tasks.course(number).tasks:
        own = [part for part in task.parts if part.stub is not None]
        assert len(own) == 1 or all(part.hint for part in own), task.name
        for part in own:
            operation = part.function.startswith(("bn_", "fib_compute", "fib_decimal"))
            assert operation or part.function in alone.ALONE
        for name in task.uses:
            assert name in alone.ALONE
    names = {path.stem.partition("-")[0] for path in alone.FILES.glob("*.c")}
    assert names == {"common", *alone.ALONE}


def test_a_second_definition_is_refused(tmp_path: Path) -> None:
    """Otherwise the one that is tested could be right, and the one that is used wrong."""
    directory = skeleton.write(5, tmp_path, frozenset(range(1, 20)))
    text = (directory / "bignum.c").read_text()
    found = re.search(r"static (limb_t limbs_sub\(.*?\n}\n)", text, re.DOTALL)
    assert found
    wrong = text.replace("\treturn borrow;\n", "\treturn 0;\n")
    (directory / "bignum.c").write_text(wrong)
    stage = stages.single(directory, directory.name, 5)
    task = tasks.course(5).tasks[0]
    said = "it does not return the borrow beyond the top limb"
    assert alone.broken(stage, task, 1) == ("limbs_sub", said)
    (directory / "a.c").write_text(f'#include "bignum.h"\n\nstatic inline {found[1]}')
    assert alone.broken(stage, task, 1) == ("limbs_sub", alone.TWICE)
    parentheses = wrong.replace(
        "const limb_t *b, size_t b_size)", "const limb_t (*(b)), size_t b_size)"
    )
    assert parentheses != wrong
    (directory / "bignum.c").write_text(parentheses)
    assert alone.broken(stage, task, 1) == ("limbs_sub", alone.TWICE)


def test_a_text_cannot_name_the_tests(tmp_path: Path) -> None:
    """A static declaration of a test would make another function, which always passes, global."""
    directory = skeleton.write(5, tmp_path, frozenset(range(1, 20)))
    text = (directory / "bignum.c").read_text().replace("\treturn borrow;\n", "\treturn 0;\n")
    known = "static const char *alone_limbs_sub(struct fib_call *call);\n"
    (directory / "bignum.c").write_text(text.replace("/*", f"{known}\n/*", 1))
    more = 'const char *alone_limbs_sub(void *call)\n{\n\treturn "right";\n}\n'
    (directory / "more.c").write_text(more)
    stage = stages.single(directory, directory.name, 5)
    function, said = alone.broken(stage, tasks.course(5).tasks[0], 1)
    assert (function, said) == ("limbs_sub", "it does not return the borrow beyond the top limb")


def test_nothing_is_named_after_an_earlier_mistake(tmp_path: Path) -> None:
    """fib_even fails its own test, too, because it calls bn_mul."""
    directory = broken(4, tasks.course(4).tasks[2], "bn_mul", tmp_path)
    stage = stages.single(directory, directory.name, 4)
    tried = pipeline.try_operations(stage, 1, with_ideas=False)
    assert isinstance(tried, dict)
    assert not tried["compute"].large
    assert isinstance(tried["compute"], unit_tests.OperationOutcome)
    assert not tried["compute"].function


def test_the_hint_for_the_wrong_function_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(skeleton, "WORK", tmp_path / "work")
    monkeypatch.setattr(paths, "BUILD", tmp_path / "build")
    task = tasks.course(4).tasks[3]
    broken(4, task, "fib_odd", tmp_path / "work")
    hints = {part.function: part.hint for part in task.parts}
    odd, even = hints["fib_odd"], hints["fib_even"]
    about = "(about the task, not about this failure)"
    for expected in (f"hint 1 of 4: {odd}", f"hint 2 of 4 {about}: {task.hints[0]}"):
        commands.hint(exercises.find(4), 7)
        said = " ".join(capsys.readouterr().out.split())
        assert expected in said
        assert even not in said
    # The hints for the function fib_even are counted separately.
    assert records.next_hint("4-allocation-free-api", 4, 3, "fib_even") == 0


def test_a_function_must_keep_its_bounds_although_all_results_are_right(tmp_path: Path) -> None:
    directory = skeleton.write(11, tmp_path, frozenset(range(1, 20)))
    path = directory / "field.h"
    path.write_text(
        path.read_text().replace("(x >> PRIME_BITS) * PRIME", "((x >> 58) - (x >> 63)) * PRIME")
    )
    wrong, step = first_wrong(11, directory)
    assert wrong.function == "solinas_fold"
    assert (wrong.earned, wrong.possible) == (0, 8)
    assert wrong.remark == (
        "solinas_fold is wrong: the result is not less than 2 P; all results are right, but it must"
        " be right alone, too"
    )
    assert "field.h:" in step


def test_a_function_with_other_parameters_has_no_test(tmp_path: Path) -> None:
    """The tests of the other functions go on."""
    directory = skeleton.write(10, tmp_path, frozenset(range(1, 20)))
    path = directory / "karatsuba.c"
    source = path.read_text().replace("add_halves(limb_t", "add_halves(int unused, limb_t")
    for operand in "ab":
        source = source.replace(f"add_halves({operand}_sum", f"add_halves(0, {operand}_sum")
    path.write_text(source.replace("middle[half + i] - c1 - c3", "middle[half + i] - c1"))
    stage = stages.single(directory, directory.name, 10)
    task = tasks.course(10).tasks[0]
    function, reason = alone.broken(stage, task, 1)
    assert (function, reason) == ("add_middle", "c[] is not the sum with the middle product")


def test_a_function_must_keep_its_name(tmp_path: Path) -> None:
    """Otherwise its own test, which could find a mistake, would be lost."""
    directory = skeleton.write(10, tmp_path, frozenset(range(1, 20)))
    path = directory / "karatsuba.c"
    path.write_text(path.read_text().replace("signed_digits(", "digits_with_signs("))
    wrong, step = first_wrong(10, directory)
    assert wrong.function == "signed_digits"
    assert f"signed_digits is wrong: {alone.MISSING}" in wrong.remark
