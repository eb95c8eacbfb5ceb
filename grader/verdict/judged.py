# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""One stage, judged: how it stands, and its points."""

from __future__ import annotations

from dataclasses import dataclass

from grader.stage import function_program, function_tests
from grader.stage.function_program import UntriedError
from grader.stage.stages import Stage
from grader.stage.tasks import Course, course
from grader.stage.verify import Verified
from grader.verdict import points, status
from grader.verdict.points import Line, Tried
from grader.verdict.status import Found, Status


@dataclass(frozen=True)
class Judged(points.Lines):
    """Everything that is known of a stage, and what it comes to."""

    verified: Verified
    found: tuple[Found, ...]  # by whomever, in order
    status: Status
    lines: tuple[Line, ...] = ()  # none where no points are given
    note: str = ""  # why there are no points, or which are not given out

    @property
    def stage(self) -> Stage:
        """The stage."""
        return self.verified.built.stage


def try_functions(stage: Stage, asked: Course, seed: int) -> Tried:
    """Each operation of a stage's tasks tried in a program, or why there is no program."""
    try:
        program = function_program.program(stage)
    except UntriedError as error:
        return error.finding
    return {
        task.operation: function_tests.outcome(stage, program, task.operation, seed)
        for task in asked.tasks
    }


def judge(
    verified: Verified,
    found: tuple[Found, ...] = (),
    tried: Tried | None = None,
    speed: Line | None = None,
    note: str = "",
) -> Judged:
    """Put together what was found; found comes beside the findings of the verification.

    tried None: the functions were not tried, and their points are not given out; note says why.
    """
    everything = (*(Found("verify", finding) for finding in verified.findings), *found)
    stands = status.of(everything)
    stage = verified.built.stage
    if stage.shipped:
        reason = "it is here as an object, without its source"
        return Judged(verified, everything, stands, note=reason)
    asked = course(stage.number)
    if stage.manifest.driver:
        return Judged(verified, everything, stands, tuple(points.driver_lines(asked, verified)))
    lines = points.task_lines(asked, tried) if tried is not None else []
    lines.append(points.device_line(asked, verified, stands))
    if speed is not None:
        lines.append(speed)
    return Judged(verified, everything, stands, tuple(lines), note)
