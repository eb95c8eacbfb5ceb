# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tasks are judged by the method that a stage teaches, and by it alone: slow is good enough."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.base import paths, toml
from grader.course import check
from grader.stage import stages, tasks
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
