# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read what an exercise asks of a learner, and the points for it: tasks.toml in its folder."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.base import paths, toml
from grader.base.errors import LabError
from grader.exercise.files import stages

# What of a call is counted, and the calls whose size is an n.
UNITS = ("instructions", "products", "allocations")
WHOLE = ("compute", "decimal")
UNBOUNDED = 2**63 - 1


@dataclass(frozen=True)
class TaskFunction:
    """A function of the reference that the skeleton has not, or not whole."""

    file: str
    function: str  # "": no function of its own, only lines that are left out
    stub: str | None  # None: the function is part of the solution and left out
    text: str
    above: str = ""  # what the comment above it says instead, where that gives the solution away


@dataclass(frozen=True)
class CountedCall:
    """A call that is counted: see operations/ideas.py."""

    operation: str
    size: int  # n, or the words of 8 bytes that each operand has

    @property
    def call(self) -> str:
        """Return the call in words."""
        if self.operation in WHOLE:
            return f"{self.operation} of F({self.size:,})"
        return f"{self.operation} of {self.size:,} words"


@dataclass(frozen=True)
class Plain:
    """The method that an idea improves on: a call of a stage of the kit."""

    stage: int
    takes: CountedCall


@dataclass(frozen=True)
class Idea:
    """A bound on what a call takes, which only the method that a task teaches keeps to.

    A bound is a number, never a ratio, which slow code in its other count would meet. It lies
    between what the kit's stage takes and what `plain` takes: `make par` checks that.
    """

    text: str  # what the method does
    takes: CountedCall
    least: int
    at_most: int
    unit: str  # one of UNITS
    points: int  # that a task loses without it
    plain: Plain | None  # None: no stage has the method that is improved on


@dataclass(frozen=True)
class Omission:
    """Lines of the reference, of one task, that the skeleton has not.

    above: the line that a comment with the task's text stands above; "" for no comment.
    """

    file: str
    lines: tuple[str, ...]  # each some whole lines, left out wherever they stand
    above: str = ""


@dataclass(frozen=True)
class Task:
    """One numbered task of a stage."""

    number: int
    name: str
    text: str
    operation: str  # what grader/exercise/operations/unit_tests.py tries for it; "" for a driver's
    points: int
    hints: tuple[str, ...]
    parts: tuple[TaskFunction, ...]
    ideas: tuple[Idea, ...] = ()
    omitted: Omission | None = None


@dataclass(frozen=True)
class Speed:
    """The points for being faster than the stage before."""

    points: int
    before: int
    n: int
    phase: str
    par: float  # how many times faster earns them all


@dataclass(frozen=True)
class Course:
    """What an exercise asks of the learner; its points come to 100."""

    tasks: tuple[Task, ...]
    device_points: int
    speed: Speed | None


# How many n expected/par.json has for a stage's speed.
CHOICES = 8


def choices(n: int) -> tuple[int, ...]:
    """Return the n in expected/par.json at which speed may be judged, the course's own first."""
    return tuple(round(n / 2 ** (i / CHOICES)) for i in range(CHOICES))


def listed(speed: Speed, seed: int) -> Speed:
    """Return the speed at one of the choices, by the seed; seed 1 means the course's n."""
    return replace(speed, n=choices(speed.n)[(seed - 1) % CHOICES])


def drawn(speed: Speed, seed: int) -> Speed:
    """Return the speed at any n from half of the course's n to that, by the seed.

    Seed 1 means the course's n.
    """
    below = 0 if seed == 1 else random.Random(seed).randint(0, speed.n // 2)
    return replace(speed, n=speed.n - below)


def judged_speed(number: int, seed: int) -> Speed | None:
    """Return what the speed of a stage is judged by with this seed; None if it is not judged."""
    speed = course(number).speed
    return drawn(speed, seed) if speed else None


def course(stage: int) -> Course:
    """Read the tasks of a stage."""
    return read(stages.directory_of(stage) / "tasks.toml", str(stage))


def read(path: Path, name: str) -> Course:
    """Read the tasks of the exercise of that name. Raise LabError where they are not valid."""
    try:
        table = toml.read(path)
        tasks = tuple(_task(i, t) for i, t in enumerate(table["task"], 1))
        speed = Speed(**table["speed"]) if "speed" in table else None
        device = int(table["device"]["points"]) if "device" in table else 0
        found = Course(tasks, device, speed)
    except FileNotFoundError:
        raise LabError(f"there are no tasks for {name}: write {paths.shown(path)}") from None
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise LabError(f"{paths.shown(path)}: {error}") from error
    total = sum(t.points for t in tasks) + found.device_points + (speed.points if speed else 0)
    if total != 100:
        raise LabError(f"{paths.shown(path)}: the points come to {total}, not to 100")
    return found


def _task(number: int, table: dict[str, Any]) -> Task:
    text = " ".join(str(table.get("text", "")).split())
    omitted = None
    if "omit" in table:
        omit = table["omit"]
        omitted = Omission(omit["file"], tuple(omit.get("lines", ())), omit.get("above", ""))
    parts = _functions(number, table, text)
    file = table.get("file") or (omitted.file if omitted else "")
    if file and not parts:
        parts = [TaskFunction(file, "", None, text)]
    return Task(
        number,
        str(table["name"]),
        text,
        str(table.get("operation", "")),
        int(table["points"]),
        tuple(table["hints"]),
        tuple(parts),
        tuple(_idea(idea, int(table["points"])) for idea in table.get("idea", [])),
        omitted,
    )


def _idea(table: dict[str, Any], points: int) -> Idea:
    unit = str(table.get("unit", UNITS[0]))
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r}; choose from {', '.join(UNITS)}")
    return Idea(
        " ".join(str(table["text"]).split()),
        _count(table["takes"]),
        int(table.get("least", 0)),
        int(table["at_most"]) if "at_most" in table else UNBOUNDED,
        unit,
        int(table.get("points", points)),
        _plain(table["plain"]) if "plain" in table else None,
    )


def _plain(text: str) -> Plain:
    stage, takes = text.split(maxsplit=1)
    return Plain(int(stage), _count(takes))


def _count(text: str) -> CountedCall:
    operation, size = text.split()
    return CountedCall(operation, int(size))


def _functions(number: int, table: dict[str, Any], text: str) -> list[TaskFunction]:
    parts = [
        TaskFunction(
            p["file"],
            p["function"],
            str(p["stub"]),
            p.get("text", text if i == 0 else f"belongs to task {number} as well."),
            p.get("above", ""),
        )
        for i, p in enumerate(table.get("replace", []))
    ]
    return parts + [
        TaskFunction(p["file"], p["function"], None, "") for p in table.get("remove", [])
    ]
