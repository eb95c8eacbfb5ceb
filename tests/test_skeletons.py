# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Skeletons: what they leave out, that they earn nothing, and that each task solved earns more."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader import build, course, machines, operations, paths, scratch, skeleton, stages

STAGES = sorted(stages.manifests())


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="s"))
    yield folder
    shutil.rmtree(folder)
    scratch.remove_all()


def all_tasks(stage: int) -> frozenset[int]:
    return frozenset(task.number for task in skeleton.course(stage).tasks)


def as_stage(directory: Path, number: int) -> stages.Stage:
    return stages.single(directory, f"skeleton-{directory.name}", number)


def task_points(directory: Path, number: int) -> list[int]:
    stage, tasks = as_stage(directory, number), skeleton.course(number)
    return [line.earned for line in course._task_lines(stage, tasks, 7)]


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
    for task in skeleton.course(number).tasks:
        for part in task.parts:
            body = solved[part.file][
                slice(*skeleton._span(solved[part.file], part.function, "")[1:])
            ]
            # Lines that say something; those that any function may have do not.
            telling = {line.strip() for line in body.splitlines() if len(line.strip()) > 24} - {
                line.strip() for line in (part.stub or "").splitlines()
            }
            whole = {line.strip() for line in bare[part.file].splitlines()}
            elsewhere = solved[part.file].replace(body, "")
            given = {line.strip() for line in elsewhere.splitlines()}
            assert not (telling - given) & whole, f"task {task.number}"


@pytest.mark.machine
@pytest.mark.parametrize("number", STAGES)
def test_it_compiles_loads_and_earns_nothing(number: int, place: Path) -> None:
    directory = skeleton.write(number, place)
    stage = stages.single(directory, directory.name, number)
    built = build.build(stage, machines.get("uml").kernel())
    assert built.ok, built.cause
    assert not built.breaches
    assert "warning" not in built.log, built.log
    result = course.check(number, directory, 7)
    assert [line.earned for line in result.lines] == [0] * len(result.lines)
    # Wrong numbers, and nothing worse: no crash, no dirty log.
    device = next(line for line in result.lines if line.name == "device")
    assert device.remark.startswith("F("), device.remark


@pytest.mark.parametrize("number", STAGES)
def test_each_task_solved_earns_its_points(number: int, place: Path) -> None:
    tasks = skeleton.course(number).tasks
    before = 0
    for last in range(1, len(tasks) + 1):
        solved = frozenset(range(1, last + 1))
        directory = skeleton.write(number, place / str(last), solved)
        points = task_points(directory, number)
        assert points[last - 1] == tasks[last - 1].points
        assert sum(points) > before
        before = sum(points)
    assert before == sum(task.points for task in tasks)


def test_starting_again_never_overwrites(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeleton, "WORK", place / "work")
    course.start(2)
    own = skeleton.learner_directory(2)
    assert own is not None
    assert skeleton.untouched(2, own)
    course.start(2)  # nothing was done: nothing is asked
    (own / "fib.c").write_text("mine\n")
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115, PTH123
    with pytest.raises(course.LabError, match="holds your work"):
        course.start(2)
    assert (own / "fib.c").read_text() == "mine\n"
    aside = skeleton.put_aside(own)
    assert (aside / "fib.c").read_text() == "mine\n"
    assert skeleton.learner_directory(2) is None


MISTAKES = [
    (1, "fib.c", "i < n", "i <= n", "compute", "expected 0x0, got 0x1"),
    (3, "bignum.c", "(dlimb_t)a[i] + b[i] + carry", "a[i] + b[i] + carry", "add", "got 0x0"),
    (3, "bignum.c", "c = bn_replace(c, bn_add(c, b));", "c = bn_add(c, b);", "mul", "given back"),
    (5, "bignum.c", "(dlimb_t)a[i] * factor", "a[i] * factor", "mul", "got 0x0"),
    (6, "bignum.c", "(ai < carry) + (sum < ai)", "sum < ai", "add", "0xffff"),
    (6, "bignum.c", "[i - 1] >> 1 >> down", "[i - 1] >> (LIMB_BITS - shift)", "lshift", "exponent"),
    (7, "fib.c", "25 * n / (36 * LIMB_BITS) + 2", "n / 20 + 2", "memory", "are plenty"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "name", "old", "new", "operation", "says"), MISTAKES)
def test_a_mistake_is_found(
    number: int, name: str, old: str, new: str, operation: str, says: str, place: Path
) -> None:
    directory = skeleton.write(number, place, all_tasks(number))
    text = (directory / name).read_text()
    assert old in text
    (directory / name).write_text(text.replace(old, new, 1))
    stage = as_stage(directory, number)
    outcome = operations.outcome(stage, operations.program(stage), operation, 1)
    assert not outcome.large
    assert says in outcome.fault


def test_an_endless_loop_ends(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "SECONDS", 1)
    directory = skeleton.write(1, place, all_tasks(1))
    text = (directory / "fib.c").read_text()
    (directory / "fib.c").write_text(text.replace("i < n; i++", "i < n || n > 50; i++"))
    stage = as_stage(directory, 1)
    outcome = operations.outcome(stage, operations.program(stage), "compute", 1)
    assert outcome.fault.startswith("F(51)")
    assert "endless loop" in outcome.fault
    assert outcome.small


def test_a_comment_that_gives_the_solution_away_goes_too() -> None:
    assert "Lucas" in skeleton.sources(7, all_tasks(7))["fib.c"]
    bare = skeleton.sources(7)["fib.c"]
    assert "Lucas" not in bare
    assert "/* Limbs enough for any number on the way to F(n). */\nstatic size_t" in bare


def test_saving_is_noticed(place: Path) -> None:
    directory = skeleton.write(1, place)
    changes = course._changes(directory)
    next(changes)  # at first, without a change

    def save() -> None:
        (directory / "notes.txt").write_text("nothing to check\n")
        (directory / "fib.c").touch()
        (directory / "new").write_text("int new;\n")
        (directory / "new").rename(directory / "fib.c")

    threading.Timer(0.5, save).start()
    begin = time.monotonic()
    next(changes)
    assert time.monotonic() - begin >= 0.4
    assert (directory / "fib.c").read_text() == "int new;\n"


def test_hints_go_from_vague_to_precise() -> None:
    for number in STAGES:
        for task in skeleton.course(number).tasks:
            assert len(task.hints) >= 3, (number, task.name)
            assert task.text


def test_the_paths_of_parts_exist() -> None:
    for number in STAGES:
        for task in skeleton.course(number).tasks:
            for part in task.parts:
                assert (skeleton.reference(number) / part.file).is_file()
    assert skeleton.WORK == paths.ROOT / "work"


@pytest.mark.machine
def test_what_does_not_compile_says_where(place: Path) -> None:
    directory = skeleton.write(1, place)
    text = (directory / "fib.c").read_text()
    (directory / "fib.c").write_text(text.replace("return 0;", "return 0", 1))
    result = course.check(1, directory, 7)
    assert [line.earned for line in result.lines] == [0] * len(result.lines)
    assert "fib.c:" in result.lines[0].remark
    assert course.next_step(result) == "next: make it compile"
    printed = course.ktap(result).splitlines()
    assert printed[:2] == ["KTAP version 1", f"1..{len(result.lines)}"]
    assert sum(line.startswith("not ok ") for line in printed) == len(result.lines)
    scores = course.gradescope(result)
    assert scores["score"] == 0
    assert sum(test["max_score"] for test in scores["tests"]) == 100
