# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test skeletons, which compile, load and earn no points, and the commands start, save and hint."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.base import paths, scratch
from grader.base.errors import LabError
from grader.base.finding import Code
from grader.course import carry_forward, check, commands, result_files, results, skeleton, watch
from grader.exercise.build import stage_module
from grader.exercise.files import exercises, stages, tasks
from grader.lab import machines
from grader.scoring import points

STAGES = sorted(stages.manifests())


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="s"))
    # The folder needs the same name in each run; see tmp_path in conftest.py.
    (folder / "t").mkdir()
    yield folder / "t"
    shutil.rmtree(folder)
    scratch.remove_all()


@pytest.mark.machine
@pytest.mark.parametrize(
    "number", [n if n in (1, 3) else pytest.param(n, marks=pytest.mark.long) for n in STAGES]
)
def test_it_compiles_loads_and_earns_nothing(number: int, place: Path) -> None:
    directory = skeleton.write(number, place)
    stage = stages.single(directory, directory.name, number)
    built = stage_module.build(stage, machines.get("uml").kernel())
    assert built.ok, built.cause
    assert not built.violations
    assert not built.module.warnings
    result = check.check(exercises.find(number), directory, 7)
    assert [line.earned for line in result.lines] == [0] * len(result.lines)
    # The skeleton computes wrong numbers, but it neither crashes nor causes warnings in the kernel
    # log.
    device = next(line for line in result.lines if line.name == "device")
    assert device.code is Code.WRONG, device.remark


def test_starting_again_never_overwrites(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skeleton, "WORK", place / "work")
    monkeypatch.setattr(paths, "BUILD", place / "build")
    commands.start(exercises.find(2))
    own = skeleton.learner_directory(2)
    assert own is not None
    assert skeleton.untouched(2, own)
    commands.start(exercises.find(2))  # `start` asks no question, because the copy is unchanged.
    (own / "fib.c").write_text("mine\n")
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115, PTH123
    with pytest.raises(LabError, match="holds your work"):
        commands.start(exercises.find(2))
    assert (own / "fib.c").read_text() == "mine\n"
    aside = skeleton.put_aside(own)
    assert (aside / "fib.c").read_text() == "mine\n"
    assert skeleton.learner_directory(2) is None


def test_an_unchanged_copy_gets_the_functions_of_a_stage_done_later(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skeleton, "WORK", place / "work")
    monkeypatch.setattr(paths, "BUILD", place / "build")
    commands.start(exercises.find(2))
    own = skeleton.learner_directory(2)
    assert own is not None
    now = skeleton.sources(2) | {"fib.c": "with a function of stage 1\n"}
    monkeypatch.setattr(carry_forward, "begin", lambda *_: (now, []))
    monkeypatch.setattr("sys.stdin", open("/dev/null"))  # noqa: SIM115, PTH123
    commands.start(exercises.find(2))
    assert (own / "fib.c").read_text() == now["fib.c"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_is_put_aside_can_be_had_back_as_start_says(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(skeleton, "WORK", place / "work")
    monkeypatch.setattr(paths, "BUILD", place / "build")
    own = skeleton.write(2, place / "work")
    (own / "fib.c").write_text("mine\n")
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    commands.start(exercises.find(2))
    assert skeleton.untouched(2, own)
    said = re.search(r"^then run (mv \S+ \S+)$", capsys.readouterr().out, re.MULTILINE)
    assert said
    own.rename(place / "new")  # `start` tells the learner to move the new copy first
    subprocess.run(said[1].split(), cwd=paths.ROOT, check=True)
    assert (own / "fib.c").read_text() == "mine\n"


def test_saving_is_noticed(place: Path) -> None:
    directory = skeleton.write(1, place)
    changes = watch.changes(directory)
    next(changes)  # The first result does not wait for a change.

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
        for task in tasks.course(number).tasks:
            assert len(task.hints) >= 3, (number, task.name)
            assert task.text


def test_a_stage_that_is_not_there_says_which_are() -> None:
    with pytest.raises(LabError, match=f"there is no stage 99; choose one of 0 to {STAGES[-1]}$"):
        tasks.course(99)
    with pytest.raises(LabError, match=f"no stage 99; choose one of 0 to {STAGES[-1]}$"):
        skeleton.reference(99)


def test_the_paths_of_parts_exist() -> None:
    for number in STAGES:
        for task in tasks.course(number).tasks:
            for part in task.parts:
                assert (skeleton.reference(number) / part.file).is_file()
    assert skeleton.WORK == paths.ROOT / "work"


@pytest.mark.machine
def test_what_does_not_compile_says_where(place: Path) -> None:
    directory = skeleton.write(1, place)
    text = (directory / "fib.c").read_text()
    (directory / "fib.c").write_text(text.replace("return 0;", "return 0", 1))
    result = check.check(exercises.find(1), directory, 7)
    assert [line.earned for line in result.lines] == [0] * len(result.lines)
    assert "fib.c:" in result.lines[0].remark
    assert results.next_step(result) == "next: make it compile; make stage=1 hint"
    printed = result_files.ktap(result).splitlines()
    assert printed[:2] == ["KTAP version 1", f"1..{len(result.lines)}"]
    assert sum(line.startswith("not ok ") for line in printed) == len(result.lines)
    scores = result_files.gradescope(result)
    assert scores["score"] == 0
    assert sum(test["max_score"] for test in scores["tests"]) == 100


@pytest.mark.skipif(stages.exported(), reason="needs the functions of earlier stages")
@pytest.mark.parametrize("name", exercises.names())
def test_the_next_step_names_a_line_of_each_task(name: str, place: Path) -> None:
    """The line is also found after the learner has removed the comments that describe the tasks."""
    exercise = exercises.find(name)
    directory = skeleton.write(name, place)
    for comments in (True, False):
        for task in exercise.course.tasks:
            lines = [points.Line(task.name, 0, task.points, "wrong", task.number, code=Code.WRONG)]
            step = results.next_step(check.CheckResult(name, str(directory), tuple(lines)))
            found = re.search(r" at \S+/([\w.]+\.\w)(?::(\d+))?; ", step)
            assert found, step
            assert int(found[2] or 0) > 1 or not (exercise.stage or comments), step
            assert found[1] in {part.file for part in task.parts}
        for path in directory.glob("*.[ch]") if comments else ():
            described = re.compile(r"/\*(?:(?!\*/).)*?\b[Tt]ask \d(?:(?!\*/).)*\*/", re.DOTALL)
            path.write_text(described.sub("", path.read_text()))
