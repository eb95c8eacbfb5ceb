# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Find and read exercises: folders with a manifest, exercise.toml, and tasks, tasks.toml.

Stages, the learner's driver and electives are exercises. The manifest decides what a command can do
with an exercise, never the exercise's name or number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from grader.base import paths, toml
from grader.base.errors import LabError
from grader.exercise.files import stages, tasks
from grader.exercise.files.stages import Manifest, number_of
from grader.exercise.files.tasks import Course

ELECTIVES = paths.ROOT / "electives"
MANIFEST = "exercise.toml"
SOURCES = (".c", ".h", ".S")
# The keys that the manifest of an elective must have.
REQUIRED = ("title", "handout", "folder", "judge")


@dataclass(frozen=True)
class ExerciseChange:
    """A change of an exercise, which older copies do not have yet."""

    version: int  # the first version of the exercise that has this change
    what: str
    rename: Mapping[str, str] = field(default_factory=dict)  # identifiers, old to new


# Copies from before the introduction of version numbers have a manifest stage.toml, or no manifest.
FIRST_VERSION = ExerciseChange(1, "exercise.toml states the version that a copy was made for")
OLD_MANIFEST = "stage.toml"


@dataclass(frozen=True)
class Exercise:
    """An exercise as its folder describes it."""

    name: str  # The name as a learner types it, for example "3" or "fibers".
    directory: Path  # The kit's folder.
    title: str
    handout: Path
    sources: Path  # The folder of the solution, of which learners get a skeleton.
    stage: Manifest | None  # The manifest of a stage; None for an elective.
    judge: str = ""  # The module whose judge() tests an elective; "" for a stage.
    for_a_class: bool = True  # True if the exercise can judge untrusted submissions.
    version: int = 1
    changes: tuple[ExerciseChange, ...] = ()

    @property
    def variable(self) -> str:
        """Return the make variable that names exercises of this kind."""
        return "stage" if self.stage else "elective"

    @property
    def label(self) -> str:
        """Return the name of the exercise for messages, such as "stage 3" or "elective fibers"."""
        return f"{self.variable} {self.name}"

    @property
    def heading(self) -> str:
        """Return a heading for the exercise, such as "Stage 3, bignum-u32" or "Elective fibers"."""
        return f"{self.label.capitalize()}{f', {self.stage.name}' if self.stage else ''}"

    @property
    def copy_name(self) -> str:
        """Return the name of a copy's folder, in work/ or where a submission is graded."""
        return self.directory.name

    @property
    def packages(self) -> str:
        """Return the group of packages that the exercise needs besides core, or ""."""
        return "" if self.stage else self.name

    @property
    def arithmetic(self) -> bool:
        """Return whether the exercise computes F(n) for the kit's driver."""
        return self.stage is not None and self.stage.computes

    @cached_property
    def course(self) -> Course:
        """Return the tasks and points of the exercise."""
        return tasks.read(self.directory / "tasks.toml", self.name)

    @property
    def points(self) -> tuple[tuple[str, int], ...]:
        """Return the names and points of all graded parts, in order; the points add up to 100."""
        found = [(task.name, task.points) for task in self.course.tasks]
        if self.course.device_points:
            found.append(("device", self.course.device_points))
        if self.course.speed:
            found.append(("speed", self.course.speed.points))
        return tuple(found)

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files of which a submission must hold at least one."""
        if self.arithmetic:
            return ("fib.c",)
        return tuple(sorted({part.file for task in self.course.tasks for part in task.parts}))

    def command(self, verb: str) -> str:
        """Return the make command for a verb, as a person types it."""
        return paths.make(f"{self.variable}={self.name} {verb}")

    def texts(self) -> dict[str, str]:
        """Return the kit's sources and manifest by file name. The sources may be skeletons."""
        folder = [path for path in sorted(self.sources.iterdir()) if path.suffix in SOURCES]
        return {
            path.name: path.read_text(encoding="utf-8")
            for path in [*folder, self.directory / MANIFEST]
        }


def names() -> list[str]:
    """Return the names of all exercises: stages by number, then electives."""
    return [str(number) for number in sorted(stages.known())] + electives()


def electives() -> list[str]:
    """Return the names of the electives."""
    return sorted(path.parent.name for path in ELECTIVES.glob(f"*/{MANIFEST}"))


def find(name: str | int) -> Exercise:
    """Return the exercise with that name. Raise LabError with the known names if there is none."""
    if re.fullmatch(r"[0-9]+", str(name)):
        return _stage(int(name))
    if name not in electives():
        raise LabError(f"there is no elective {name}", f"choose one of {', '.join(electives())}")
    directory = ELECTIVES / str(name)
    table = _read(directory)
    missing = [key for key in REQUIRED if key not in table]
    if missing:
        raise LabError(
            f"{paths.shown(directory / MANIFEST)} lacks {', '.join(missing)}", "add what is missing"
        )
    sources = directory / str(table["folder"])
    if not sources.is_dir():
        raise LabError(
            f"{paths.shown(directory / MANIFEST)}: no folder {table['folder']}", "correct the file"
        )
    return Exercise(
        name=str(name),
        directory=directory,
        title=str(table["title"]),
        handout=paths.ROOT / str(table["handout"]),
        sources=sources,
        stage=None,
        judge=str(table["judge"]),
        for_a_class=bool(table.get("for_a_class", False)),
        **_versions(table),
    )


def _stage(number: int) -> Exercise:
    directory = stages.directory_of(number)
    manifest = stages.load_manifest(directory)
    table = _read(directory)
    return Exercise(
        name=str(number),
        directory=directory,
        title=manifest.title,
        handout=paths.ROOT / "handouts" / f"{directory.name}.md",
        sources=directory,
        stage=manifest,
        **_versions(table),
    )


def _read(directory: Path) -> dict[str, Any]:
    path = directory / MANIFEST
    try:
        return toml.read(path)
    except (OSError, ValueError) as error:
        raise LabError(f"{paths.shown(path)}: {error}", "correct the file") from error


def _versions(table: Mapping[str, Any]) -> dict[str, Any]:
    changes = [
        ExerciseChange(int(row["version"]), str(row["what"]), dict(row.get("rename", {})))
        for row in table.get("change", [])
    ]
    return {"version": int(table.get("version", 1)), "changes": tuple(changes)}


def version_of(copy: Path) -> int:
    """Return the exercise version of a learner's copy; 0 if the copy has no version number."""
    try:
        return int(toml.read(copy / MANIFEST).get("version", 1))
    except (OSError, ValueError, TypeError):
        return 0


def pending(exercise: Exercise, copy: Path) -> tuple[ExerciseChange, ...]:
    """Return the changes of an exercise since a learner's copy was made."""
    version = version_of(copy)
    first = (FIRST_VERSION,) if version == 0 else ()
    return (*first, *(change for change in exercise.changes if change.version > version))


def for_a_class(name: str) -> Exercise:
    """Return an exercise that can judge untrusted submissions. Raise LabError if it cannot."""
    exercise = find(name)
    if not exercise.for_a_class:
        able = ", ".join(other for other in electives() if find(other).for_a_class)
        raise LabError(f"{exercise.label} is not graded for a class", f"choose one of {able}")
    return exercise


def copy_in(exercise: Exercise, folder: Path) -> Path | None:
    """Return the copy of an exercise in a folder such as work/, or None."""
    if not folder.is_dir():
        return None
    if exercise.stage is None:
        return folder / exercise.name if (folder / exercise.name).is_dir() else None
    number = exercise.stage.number
    found = [d for d in sorted(folder.iterdir()) if number_of(d) == number and d.is_dir()]
    return found[0] if found else None
