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


@dataclass(frozen=True)
class Part:
    """A function of the reference that the skeleton has not, or not whole."""

    file: str
    function: str  # "": passages, marked as the task's
    stub: str | None  # None: the function is part of the solution and left out
    text: str
    above: str = ""  # what the comment above it says instead, where that gives the solution away


@dataclass(frozen=True)
class Task:
    """One numbered task of a stage."""

    number: int
    name: str
    text: str
    operation: str  # what grader/exercise/operations/unit_tests.py tries for it; "" for a driver's
    points: int
    hints: tuple[str, ...]
    parts: tuple[Part, ...]


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


def asked(number: int, seed: int) -> Speed | None:
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
    # A driver's tasks are passages, see grader/base/passages.py; what they ask is said there.
    if "file" in table:
        parts = [Part(str(table["file"]), "", "", text)]
    else:
        parts = _functions(number, table, text)
    return Task(
        number,
        str(table["name"]),
        text,
        str(table.get("operation", "")),
        int(table["points"]),
        tuple(table["hints"]),
        tuple(parts),
    )


def _functions(number: int, table: dict[str, Any], text: str) -> list[Part]:
    parts = [
        Part(
            p["file"],
            p["function"],
            str(p["stub"]),
            p.get("text", text if i == 0 else f"belongs to task {number} as well."),
            p.get("above", ""),
        )
        for i, p in enumerate(table["replace"])
    ]
    return parts + [Part(p["file"], p["function"], None, "") for p in table.get("remove", [])]
