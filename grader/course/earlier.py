# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check earlier stages again if their sources or other inputs of their points have changed.

A later stage builds on files of earlier ones, and the kit may be newer than a result. The outcome
of a stage, without its speed, is stored with a digest of everything that it depends on, so that
unchanged stages are not tested again.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from grader.base import paths, processor
from grader.base.errors import LabError
from grader.course import records, skeleton
from grader.course.check import CheckResult, check
from grader.exercise.files import exercises
from grader.exercise.files.exercises import Exercise
from grader.lab import machines
from grader.scoring import points

# The points depend on these parts of the kit and on the exercise's own folder.
KIT = ("grader", "common", "expected", "scripts", "requirements.txt")


def digest(exercise: Exercise, directory: Path, machine: str = "") -> str:
    """Return a digest of the inputs on which a copy's points depend, except the speed and the seed.

    It covers the copy, the kit, the machine with its kernel, the machine that counts instructions,
    the compiler, the processor and Python.
    """
    where = machines.get(machine or "uml")
    counter: object = ""
    if any(task.ideas for task in exercise.course.tasks):
        try:
            counting = machines.counting()
            counter = [repr(counting.kernel()), counting.facts()]
        except LabError as error:
            counter = str(error)
    executable = os.environ.get("LAB_LINUX", "")
    made_of = [
        _content(sorted(path for path in directory.iterdir() if path.is_file()), directory),
        _content(sorted(exercise.directory.iterdir()), exercise.directory),
        _kit(),
        [where.name, repr(where.kernel()), where.facts(), counter],
        hashlib.sha256(Path(executable).read_bytes()).hexdigest() if executable else "",
        [_compiler(), processor.has_vectors(), platform.release(), sys.version],
    ]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()


def _content(files: list[Path], below: Path) -> list[tuple[str, str]]:
    return [
        (path.relative_to(below).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
        if path.is_file()
    ]


@cache
def _kit() -> list[tuple[str, str]]:
    found: list[Path] = []
    for name in KIT:
        top = paths.ROOT / name
        found += [top] if top.is_file() else sorted(top.rglob("*"))
    return _content([path for path in found if "__pycache__" not in path.parts], paths.ROOT)


@cache
def _compiler() -> str:
    call = [os.environ.get("CC", "gcc"), "--version"]
    return subprocess.run(call, capture_output=True, text=True).stdout


def is_right(result: CheckResult) -> bool:
    """Return whether every line of a result except the speed has full points."""
    return all(line.full for line in result.lines if line.kind != points.SPEED)


def check_again(
    exercise: Exercise, seed_of: Callable[[str], int], machine: str, reuse: bool = True
) -> Iterator[str]:
    """Check the learner's copies of earlier stages, without their speed. Yield a line for each.

    With reuse, a copy is not checked if nothing that it depends on has changed since the last time.
    """
    if not exercise.arithmetic:
        return
    for before in map(exercises.find, exercises.names()):
        if before.name == exercise.name:
            return
        directory = skeleton.learner_directory(before.name)
        if directory is None or not before.arithmetic:
            continue
        state = digest(before, directory, machine)
        kept = records.outcome_before(before.name, state) if reuse else None
        if kept is None:
            chosen = seed_of(before.name)
            result = check(before, directory, chosen, machine, speed=False)
            outcome = _wrong(result)
            records.note_outcome(before.name, chosen, state, outcome)
            message = outcome or "all right still"
            if not outcome and before.course.speed:
                message += ", its speed not measured again"
        else:
            message = f"{kept or 'all right'}, and unchanged since"
        yield f"{before.label}, {paths.shown(directory)}: {message}"


def _wrong(result: CheckResult) -> str:
    """Return the points and the first line that is not full, or ""."""
    wrong = next((line for line in result.lines if not line.full), None)
    if wrong is None:
        return ""
    return f"{result.earned} of {result.possible} points; {wrong.name}: {wrong.remark}"
