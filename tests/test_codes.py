# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test that points, statuses and the next step depend on codes and not on message texts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import catalogue
import pytest

from grader.base.finding import Code, Failure, Finding
from grader.base.progress import Progress
from grader.course import results
from grader.course.check import CheckResult
from grader.exercise.files import stages
from grader.exercise.files.tasks import course
from grader.exercise.operations.unit_tests import OperationOutcome
from grader.lab import machines
from grader.scoring import pipeline, points
from grader.scoring.points import Line
from grader.scoring.speed import measure

# The classes that contain human-readable text, and the names of their text fields.
TEXTS: dict[type, tuple[str, ...]] = {
    Finding: ("cause", "excerpt"),
    Failure: ("title",),
    Line: ("name", "remark"),
    OperationOutcome: ("fault",),
}
PLACEHOLDER = "#"


def replace_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every text by a placeholder when an object is created."""
    for kind, names in TEXTS.items():

        def init(
            self: object,
            *words: object,
            original: Callable[..., None] = kind.__init__,  # type: ignore[misc]
            names: tuple[str, ...] = names,
            **more: object,
        ) -> None:
            original(self, *words, **more)
            for name in names:
                if getattr(self, name):
                    object.__setattr__(self, name, PLACEHOLDER)

        monkeypatch.setattr(kind, "__init__", init)


def edited(number: int, file: str, old: str, new: str) -> Callable[[Path], Path]:
    """Return a function that copies the kit's stage into a folder and makes one change."""

    def make(folder: Path) -> Path:
        kit = stages.kit(number).directory
        copy = Path(shutil.copytree(kit, folder / kit.name))
        text = (copy / file).read_text()
        assert old in text
        (copy / file).write_text(text.replace(old, new, 1))
        return copy

    return make


def faulty(name: str) -> Callable[[Path], Path]:
    """Return a function that copies stage 1 into a folder and plants a fault."""
    return lambda folder: catalogue.plant(catalogue.named(1, name, "verification"), folder)


CASES = {
    "it does not compile": edited(1, "fib.c", "fib_compute(", "fib_compute(("),
    "it breaks the contract": faulty("remembers"),
    "it is wrong from 71 on": faulty("wrong-at-71"),
    "it crashes": faulty("oops-in-read"),
    "a driver that does not compile": edited(0, "driver.c", "struct file *", "struct files **"),
}


def outcome(copy: Path) -> tuple[CheckResult, list[object]]:
    """Check a copy. Return the result, and those of its values that must not depend on texts."""
    stage = stages.single(copy, copy.name)
    checked = pipeline.check_stage(stage, machines.get("uml"), 1, lambda _: None)
    right = pipeline.judge(checked, speed=measure(stage, 1, Progress()))
    result = CheckResult(str(stage.number), str(copy), right.lines, 1)
    lines = [(line.kind, line.code, line.earned, line.possible) for line in result.lines]
    codes = [one.finding.code for one in right.found]
    return result, [lines, codes, right.status.name, right.status.code, results.next_step(result)]


@pytest.mark.once
@pytest.mark.parametrize("name", CASES)
def test_texts_change_and_nothing_else(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = CASES[name](tmp_path)
    result, with_texts = outcome(copy)
    replace_texts(monkeypatch)
    blank, without = outcome(copy)
    assert without == with_texts
    assert [line.remark for line in result.lines] != [line.remark for line in blank.lines]
    assert {line.remark for line in blank.lines} == {PLACEHOLDER}
    assert not result.full


@pytest.mark.parametrize(
    ("done", "earned"),
    [((), 0), (("fft",), 5), (("fft", "digit-sum"), 8), (None, 15)],
    ids=["none", "25 of 65", "35 of 65", "all"],
)
def test_the_device_earns_the_share_of_the_tasks(done: tuple[str, ...] | None, earned: int) -> None:
    """A device that is right without the functions of its tasks earns only their share."""
    asked = course(12)
    wrong, right = (OperationOutcome(ok, ok, 10) for ok in (False, True))
    tried = {
        task.operation: right if done is None or task.operation in done else wrong
        for task in asked.tasks
    }
    device = Line("device", 15, 15, "all right", kind=points.DEVICE)
    line = points.limited(asked, tried, device)
    assert line.earned == earned
    assert line.full or line.code != Code.OK
