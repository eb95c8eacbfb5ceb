# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a submission's directory earns: a stage by the course, an elective by its own command."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base import paths, time_limits
from grader.base.errors import LabError
from grader.base.printable import decoded
from grader.base.progress import Progress
from grader.classroom.assignment import Assignment
from grader.course import check
from grader.exercise.build import driver_recipe
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.exercise.operations import test_program
from grader.lab import machines
from grader.verdict import pipeline
from grader.verdict.points import Line, Lines


@dataclass(frozen=True)
class Verdict(Lines):
    """How it stands, and its points."""

    status: str
    cause: str
    lines: tuple[Line, ...]
    left_out: tuple[str, ...] = ()


def judge(directory: Path, what: Assignment, seed: int) -> Verdict:
    """Try a stranger's directory, away from this computer."""
    if what.stage is None:
        return _elective(directory, what.elective)
    stage = stages.single(directory, directory.name, what.stage)
    stage = replace(stage, own_driver=False, isolated=True)
    machine = machines.get("qemu").verifier()
    found = check.judge(stage, seed, machine, True, Progress())
    _clean_up(stage, found)
    left_out = found.verified.built.left_out
    return Verdict(found.status.name, found.status.cause, found.lines, left_out)


def _clean_up(stage: Stage, found: pipeline.Judged) -> None:
    """Remove what was built: nobody will ask for it again."""
    built = found.verified.built.module.directory
    for folder in (built, driver_recipe.raced_beside(built)):
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".lock").unlink(missing_ok=True)
    test_program.remove(stage)


def _elective(directory: Path, name: str) -> Verdict:
    """The grader knows no elective: each has a command that says what a folder earns."""
    output = directory.with_suffix(".json")
    module = [sys.executable, str(paths.SCRIPTS / "module.py"), "electives"]
    done = subprocess.run(
        [*module, name, "judge", str(directory), str(output)], stderr=subprocess.PIPE
    )
    try:
        if done.returncode == 0:
            said = json.loads(output.read_text())
            lines = tuple(Line(**line) for line in said["lines"])
            time_limits.note(int(said["late"]))
            return Verdict(said["status"], said["cause"], lines)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    last = (decoded(done.stderr).strip().splitlines() or [f"status {done.returncode}"])[-1]
    raise LabError(f"elective {name}: {last.removeprefix('elective: ')}")
