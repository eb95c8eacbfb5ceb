# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read the tasks and points of an exercise from tasks.toml in its folder."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.base import paths, toml
from grader.base.errors import LabError
from grader.exercise.files import stages

# The units of counts, and the calls whose size is an n.
UNITS = ("instructions", "products", "allocations")
WHOLE = ("compute", "decimal")
UNBOUNDED = 2**63 - 1


@dataclass(frozen=True)
class TaskFunction:
    """A function of the reference that the skeleton leaves out or replaces by a stub."""

    file: str
    function: str  # "" if only lines of the file are left out
    stub: str | None  # None: the function is part of the solution and left out
    text: str
    above: str = ""  # a replacement for a comment above it that would give the solution away


@dataclass(frozen=True)
class CountedCall:
    """A call that is counted: see operations/ideas.py."""

    operation: str
    size: int  # n, or the size of each operand in words of 8 bytes

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
    """A bound on the cost of a call, which only the method that a task teaches keeps.

    A bound is an absolute number, because slow code could keep a ratio of two counts. It lies
    between the count of the kit's stage and that of `plain`; `make par` checks this.
    """

    text: str  # a description of the method
    takes: CountedCall
    least: int
    at_most: int
    unit: str  # one of UNITS
    points: int  # the points withheld if the bound is not kept
    plain: Plain | None  # None if no stage has the method that the idea improves on


@dataclass(frozen=True)
class Omission:
    """Lines of the reference that the skeleton of one task leaves out.

    above is the line under the comment with the task's text; "" for no comment.
    """

    file: str
    lines: tuple[str, ...]  # each is one or more whole lines, left out wherever they occur
    above: str = ""


@dataclass(frozen=True)
class Task:
    """One numbered task of a stage."""

    number: int
    name: str
    text: str
    operation: str  # the operation that operations/unit_tests.py tests; "" for a driver's task
    points: int
    hints: tuple[str, ...]
    parts: tuple[TaskFunction, ...]
    ideas: tuple[Idea, ...] = ()
    omitted: Omission | None = None
    variables: tuple[str, ...] = ()  # static, of a driver: a data race on one is this task's fault


@dataclass(frozen=True)
class Speed:
    """The points for speed relative to the stage before."""

    points: int
    before: int
    n: int
    phase: str
    par: float  # the speedup in time that earns all points


@dataclass(frozen=True)
class Course:
    """The tasks of an exercise; the points add up to 100."""

    tasks: tuple[Task, ...]
    device_points: int
    speed: Speed | None


# The number of n in expected/par.json for the speed of a stage.
CHOICES = 8


def choices(n: int) -> tuple[int, ...]:
    """Return the n in expected/par.json at which speed may be judged, the course's own n first."""
    return tuple(round(n / 2 ** (i / CHOICES)) for i in range(CHOICES))


def listed(speed: Speed, seed: int) -> Speed:
    """Return speed with an n from choices(), by the seed; seed 1 gives the course's n."""
    return replace(speed, n=choices(speed.n)[(seed - 1) % CHOICES])


def drawn(speed: Speed, seed: int) -> Speed:
    """Return speed with a random n from half of the course's n up to it, by the seed.

    Seed 1 gives the course's n.
    """
    below = 0 if seed == 1 else random.Random(seed).randint(0, speed.n // 2)
    return replace(speed, n=speed.n - below)


def judged_speed(number: int, seed: int) -> Speed | None:
    """Return the phase, n and points of a stage's speed for this seed; None if not judged."""
    speed = course(number).speed
    return drawn(speed, seed) if speed else None


def course(stage: int) -> Course:
    """Read the tasks of a stage."""
    return read(stages.directory_of(stage) / "tasks.toml", str(stage))


def read(path: Path, name: str) -> Course:
    """Read the tasks of the exercise with that name. Raise LabError if they are not valid."""
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
        tuple(table.get("variables", ())),
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
