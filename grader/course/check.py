# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A learner's copy of a stage, graded: its tasks, the device, its speed, 100 points in all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.base import paths
from grader.base.progress import Progress
from grader.course import skeleton
from grader.exercise.build import stage_module
from grader.exercise.driver import verify as driver_verify
from grader.exercise.files import stages, tasks
from grader.exercise.files.stages import Stage
from grader.lab import machines
from grader.lab.machines import Machine
from grader.verdict import pipeline, points
from grader.verdict.points import Line
from grader.verdict.speed import measure


@dataclass(frozen=True)
class Result(points.Lines):
    """A stage's points, and what they are for."""

    stage: int
    directory: str
    lines: tuple[Line, ...]
    seed: int = 0

    @property
    def full(self) -> bool:
        """Whether nothing is left to do."""
        return all(line.full for line in self.lines)


def task_lines(stage: Stage, course: tasks.Course, seed: int) -> list[Line]:
    """One line a task: its operation tried in a program; of a driver, up to the first wrong one."""
    if not stage.manifest.driver:
        return points.task_lines(course, pipeline.try_operations(stage, seed))
    machine, progress = machines.get("uml"), Progress()
    tell = progress.of(f"stage {stage.number}")
    built = stage_module.build(stage, machine.kernel())
    verified = driver_verify.verify(built, machine, tell, all_tasks=False)
    progress.clear()
    return points.driver_lines(course, verified)


def judge(
    stage: Stage, seed: int, machine: Machine, speed: bool, progress: Progress
) -> pipeline.Judged:
    """Grade a stage: the tasks, the device, the speed."""
    tell = progress.of(f"stage {stage.number}")
    checked = pipeline.check_stage(stage, machine, seed, tell)
    for warning in checked.verified.built.module.warnings:
        progress.say(warning)
    fast = measure(stage, seed, progress) if speed else None
    judged = pipeline.judge(checked, speed=fast)
    progress.clear()
    return judged


def check(
    number: int, directory: Path, seed: int, machine_name: str = "uml", speed: bool = True
) -> Result:
    """Grade one copy of a stage: the tasks, the device, the speed. Points come to 100."""
    stage = stages.single(directory, directory.name, number)
    right = judge(stage, seed, machines.get(machine_name), speed, Progress())
    return Result(number, paths.shown(directory), right.lines, seed)


def earlier(
    number: int, seed_of: Callable[[int], int], machine_name: str
) -> Iterator[tuple[Result, str]]:
    """Check the learner's copies of the stages before once more, but for speed: a line each."""
    for before in range(1, number):
        directory = skeleton.learner_directory(before)
        if directory is None:
            continue
        result = check(before, directory, seed_of(before), machine_name, speed=False)
        wrong = next((line for line in result.lines if not line.full), None)
        said = "all right still"
        if wrong:
            said = f"{result.earned} of {result.possible} points; {wrong.name}: {wrong.remark}"
        elif tasks.course(before).speed:
            said += ", its speed not measured again"
        yield result, f"stage {before}, {result.directory}: {said}"
