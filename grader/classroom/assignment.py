# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a class is graded in: a stage, or an elective, which is known by its folder only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.base import passages, paths, toml
from grader.base.errors import LabError
from grader.course import skeleton
from grader.exercise.files import stages, tasks

ELECTIVES = paths.ROOT / "electives"


@dataclass(frozen=True)
class Assignment:
    """Something that there are points for."""

    key: str  # what it is called in file names
    title: str
    words: tuple[str, str]  # grader/class.sh is told of it by these
    again: str  # the make target that gives the same points, but for the seed
    points: tuple[tuple[str, int], ...]  # what they are for, in order
    files: tuple[str, ...]  # of which one must be there
    stage: int | None = None
    elective: str = ""

    @property
    def directory(self) -> str:
        """What the directory of a submission is called where it is graded."""
        return self.elective or f"{self.stage}-{stages.known()[self.stage or 0].name}"

    def given(self) -> Sequence[str]:
        """The C files that all were given."""
        if self.stage is not None:
            sources = sorted(skeleton.sources(self.stage).items())
            return [text for name, text in sources if name.endswith(".c")]
        files = sorted((ELECTIVES / self.elective / _said(self.elective)["folder"]).glob("*.c"))
        return [passages.skeleton(path.read_text(encoding="utf-8"), path.name) for path in files]


def of_stage(number: int) -> Assignment:
    """A stage; LabError where there are no points for it."""
    course = tasks.course(number)
    points = [(task.name, task.points) for task in course.tasks]
    points += [("device", course.device_points)] if course.device_points else []
    points += [("speed", course.speed.points)] if course.speed else []
    return Assignment(
        str(number),
        f"Stage {number}, {stages.known()[number].name}",
        ("--stage", str(number)),
        f"stage={number} check machine=qemu",
        tuple(points),
        ("driver.c" if stages.known()[number].driver else "fib.c",),
        stage=number,
    )


def of_elective(name: str) -> Assignment:
    """An elective; LabError names those that a stranger's copy can be graded of."""
    there = [path.parent.name for path in sorted(ELECTIVES.glob("*/elective.toml"))]
    able = [one for one in there if _said(one).get("for_a_class")]
    if name not in able:
        raise LabError(f"no elective {name} is graded for a class: choose of {', '.join(able)}")
    said = _said(name)
    return Assignment(
        name,
        f"Elective {name}",
        ("--elective", name),
        f"elective={name} check machine=qemu",
        tuple((task["name"], task["points"]) for task in said["task"]),
        tuple(sorted({task["file"] for task in said["task"]})),
        elective=name,
    )


def _said(name: str) -> dict[str, Any]:
    return toml.read(Path(ELECTIVES / name / "elective.toml"))
