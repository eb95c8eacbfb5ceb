# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The door of all electives, and what each has to have."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from electives import tasks
from electives.kbench import kernel
from electives.kbench import verbs as kbench
from grader.base import passages, paths, scratch
from grader.base.errors import LabError
from grader.course.export import electives, leaks

NAMES = tasks.names()


def make(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-s", *words], cwd=paths.ROOT, capture_output=True, text=True,
        env={**os.environ, "MAKEFLAGS": ""},
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_an_elective_has(name: str) -> None:
    """A handout, a hundred points, and a passage for each task that is one in its file."""
    elective = tasks.read(name)
    assert (paths.ROOT / elective.handout).is_file()
    assert sum(task.points for task in elective.tasks) == 100
    for task in elective.tasks:
        text = (elective.folder / task.file).read_text()
        assert task.number in {passage.task for passage in passages.find(text)}
        assert f"TODO: task {task.number}" in passages.skeleton(text, task.file)
        assert len(task.hints) >= 2


def test_a_bad_name_and_a_bad_target() -> None:
    done = make("elective=nope", "check")
    assert done.returncode == 2
    assert f"there is no elective nope: choose one of {', '.join(NAMES)}" in done.stderr
    (line,) = [line for line in make("run").stdout.splitlines() if "kbench" in line]
    assert tasks.read("kbench").title in line


def test_a_mark_without_an_end_is_told() -> None:
    with pytest.raises(LabError, match="x.c: a mark of a task has no end"):
        passages.skeleton("/* task 1 { */\nint x;\n", "x.c")


@pytest.fixture
def own_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A learner's folder that is not the checkout's."""
    monkeypatch.delenv("LAB_REF", raising=False)
    monkeypatch.setattr(tasks, "WORK", tmp_path / "work")
    yield tmp_path / "work"
    scratch.remove_all()


def test_a_copy_is_made_once(own_work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elective = tasks.read("kbench")
    tasks.start(elective)
    assert "1  another stack (trampoline.S), 40 points" in capsys.readouterr().out
    copy = own_work / "kbench"
    assert "TODO: task 1" in (copy / "trampoline.S").read_text()
    assert tasks.sources("kbench", kernel.SOURCES) == copy
    with pytest.raises(LabError, match="is there: move it away"):
        tasks.start(elective)


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.timeout(600)
def test_tasks_are_done_or_not(own_work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kit's earn all points; of the skeleton each is found undone, and the rest works."""
    subprocess.run([paths.SCRIPTS / "setup.sh", "kbench"], check=True)
    elective = tasks.read("kbench")
    assert tasks.check(elective, kbench.tried(elective)) == 0
    assert "elective kbench: 100 of 100 points" in capsys.readouterr().out
    tasks.start(elective)
    tried = kbench.tried(elective)
    assert ["the stack is full" in one.wrong for one in tried] == [True, False, False]
    assert "no memory in round" in tried[1].wrong
    assert "line 2 is '0', not '17'" in tried[2].wrong
    assert tasks.check(elective, tried) == 1


def test_solutions_are_searched_for() -> None:
    found = electives.solution_lines()
    assert found["waiting[block->order] = block;"] == "elective kbench, task 2"
    assert found.items() <= leaks.solution_lines().items()
