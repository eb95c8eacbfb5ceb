# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade a copy of an exercise out of 100 points: the tasks and, in a stage, device and speed."""

from __future__ import annotations

import importlib
import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from grader import sandbox
from grader.base import paths
from grader.base.background import Background
from grader.base.errors import LabError
from grader.base.finding import Code, Finding
from grader.base.progress import Progress
from grader.exercise.build import driver_recipe, stage_module
from grader.exercise.driver import verify as driver_verify
from grader.exercise.files import stages
from grader.exercise.files.exercises import Exercise
from grader.exercise.files.stages import Stage
from grader.exercise.operations import test_program
from grader.lab import machines
from grader.lab.machines import Machine
from grader.scoring import pipeline, points, status
from grader.scoring.pipeline import Show
from grader.scoring.points import Line
from grader.scoring.speed import measure
from grader.scoring.status import Status


@dataclass(frozen=True)
class ExerciseVerdict(points.Lines):
    """The status of an exercise, the first problem found, and the points."""

    status: str
    cause: str
    lines: tuple[Line, ...]
    excluded: tuple[str, ...] = ()  # messages about unused files of the submission


@dataclass(frozen=True)
class CheckResult(points.Lines):
    """The points of a learner's copy, line by line."""

    exercise: str
    directory: str
    lines: tuple[Line, ...]
    seed: int = 0

    @property
    def full(self) -> bool:
        """Return whether every line has all its points."""
        return all(line.full for line in self.lines)


def task_lines(exercise: Exercise, directory: Path, seed: int) -> list[Line]:
    """Test only the tasks, without the device and the speed. Return one line for each task.

    The tasks of a driver are tested up to the first one that fails.
    """
    if exercise.stage is None:
        return list(_judge_elective(exercise, directory, seed, "", isolated=False).lines)
    stage = stages.single(directory, directory.name, exercise.stage.number)
    if exercise.arithmetic:
        return points.task_lines(exercise.course, pipeline.try_operations(stage, seed))
    machine, progress = machines.get("uml"), Progress()
    built = stage_module.build(stage, machine.kernel())
    verified = driver_verify.verify(
        built, machine, seed, progress.substeps(exercise.label), all_tasks=False
    )
    progress.clear()
    return points.driver_lines(exercise.course, verified)


def judge(
    exercise: Exercise,
    directory: Path,
    seed: int,
    machine: str = "",
    speed: bool = True,
    isolated: bool = False,
    show: Show | None = None,
) -> ExerciseVerdict:
    """Grade a copy of an exercise.

    machine: the machine's name; by default the exercise selects the machine. isolated: the copy is
    an untrusted submission, which stays in the sandbox and in QEMU. show: called with each line of
    points as soon as the line is final. Passing it means that a person waits, so independent checks
    run concurrently.
    """
    if exercise.stage is None:
        where = "qemu" if isolated else machine
        return _judge_elective(exercise, directory, seed, where, isolated)
    stage = stages.single(directory, directory.name, exercise.stage.number)
    on = machines.get(machine or "uml")
    if isolated:
        stage = replace(stage, own_driver=False, isolated=True)
        on = machines.get("qemu").verifier()
    progress = Progress()
    if show and not exercise.arithmetic:
        return _judge_driver(exercise, stage, on, seed, show, progress)
    if show and not (isolated or stage.shipped):
        return _judge_at_once(exercise, stage, on, seed, show, progress)
    checked = pipeline.check_stage(
        stage, on, seed, progress.substeps(exercise.label), with_ideas=speed
    )
    for warning in () if isolated else checked.verified.built.module.warnings:
        progress.say(warning)
    judged = pipeline.judge(checked, speed=measure(stage, seed, progress) if speed else None)
    progress.clear()
    if isolated:
        _remove_build(stage, judged)
    excluded = judged.verified.built.excluded
    return ExerciseVerdict(judged.status.name, judged.status.cause, judged.lines, excluded)


def _judge_at_once(
    exercise: Exercise, stage: Stage, machine: Machine, seed: int, show: Show, progress: Progress
) -> ExerciseVerdict:
    """Grade a copy with concurrent checks, and show each line as soon as it is final."""
    by_status = measure(stage, seed, progress)
    shown: list[Line] = []
    counting: list[Background[Line | None]] = []

    def show_task(line: Line) -> None:
        progress.clear()
        show(line)
        shown.append(line)

    def all_right() -> None:
        # The device is usually correct if the tasks are correct. So measure the speed without
        # waiting for the tests of the device.
        counting.append(Background(lambda: by_status(status.decide(()))))

    def speed_line(stands: Status) -> Line | None:
        if stands.name == "ok" and counting:
            return counting[0].result()
        return by_status(stands)

    checked = pipeline.check_while_waiting(
        stage,
        machine.verifier(),
        seed,
        progress.substeps(exercise.label),
        show_task,
        progress.say,
        all_right,
    )
    judged = pipeline.judge(checked)
    progress.clear()
    for line in judged.lines[len(shown) :]:
        show(line)
    fast = speed_line(judged.status)
    progress.clear()
    if fast:
        fast = points.limited(exercise.course, checked.tried, fast)
        show(fast)
    lines = (*judged.lines, *([fast] if fast else []))
    excluded = judged.verified.built.excluded
    return ExerciseVerdict(judged.status.name, judged.status.cause, lines, excluded)


def _judge_driver(
    exercise: Exercise, stage: Stage, machine: Machine, seed: int, show: Show, progress: Progress
) -> ExerciseVerdict:
    """Grade a copy of the driver, and show the line of each task after its test."""
    tasks = {task.number: task for task in exercise.course.tasks}
    shown: list[Line] = []

    def show_task(number: int, wrong: Finding | None) -> None:
        progress.clear()
        shown.append(points.task_line(tasks[number], wrong))
        show(shown[-1])

    progress.step(f"{exercise.label}: build")
    # The verification asks for this module again and then waits for it, so ignore its result here.
    Background(lambda: driver_verify.build_raced(stage, machine.verifier()))
    built = stage_module.build(stage, machine.kernel())
    for warning in built.module.warnings:
        progress.say(warning)
    tell = progress.substeps(exercise.label)
    verified = driver_verify.verify(
        built, machine.verifier(), seed, lambda detail: tell(f"verify: {detail}"), show=show_task
    )
    judged = pipeline.judge(pipeline.CheckedStage(verified))
    progress.clear()
    for line in judged.lines[len(shown) :]:
        show(line)
    return ExerciseVerdict(judged.status.name, judged.status.cause, judged.lines, built.excluded)


def _remove_build(stage: Stage, judged: pipeline.JudgedStage) -> None:
    """Remove the build of an untrusted submission, which is not graded again."""
    built = judged.verified.built.module.directory
    for folder in (built, driver_recipe.raced_beside(built)):
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".lock").unlink(missing_ok=True)
    test_program.remove(stage)


def _judge_elective(
    exercise: Exercise, directory: Path, seed: int, machine: str, isolated: bool
) -> ExerciseVerdict:
    """Test the tasks by the elective's own module, because the grader has no code for electives."""
    if machine not in ("", "qemu", "uml"):
        raise LabError(
            f"{exercise.label} is not checked on machine {machine}",
            "choose machine=qemu, machine=uml or neither",
        )
    if isolated:
        if not exercise.for_a_class:
            raise LabError(
                f"{exercise.label} cannot judge untrusted submissions", "choose another exercise"
            )
        sandbox.require()
        os.environ[paths.SUBMISSION] = str(directory)
    module = importlib.import_module(exercise.judge)
    excluded = tuple(module.excluded()) if hasattr(module, "excluded") else ()
    for note in () if isolated else excluded:
        Progress().say(note)
    found: list[Finding | None] = module.judge(machine, seed)
    tasks = exercise.course.tasks
    if len(found) != len(tasks):
        raise LabError(
            f"{exercise.judge} judges {len(found)} tasks, tasks.toml has {len(tasks)}",
            "change one of them",
        )
    lines = tuple(points.task_line(task, wrong) for task, wrong in zip(tasks, found))
    wrong = next((line for line in lines if not line.full), None)
    if wrong is None:
        return ExerciseVerdict("ok", "", lines, excluded)
    if any(line.code == Code.BUILD_FAILED for line in lines):
        return ExerciseVerdict("build-failed", wrong.remark, lines, excluded)
    return ExerciseVerdict("wrong", f"{wrong.name}: {wrong.remark}", lines, excluded)


def check(
    exercise: Exercise,
    directory: Path,
    seed: int,
    machine: str = "",
    speed: bool = True,
    show: Show | None = None,
) -> CheckResult:
    """Grade a learner's copy of an exercise. For show, see judge."""
    verdict = judge(exercise, directory, seed, machine, speed, show=show)
    return CheckResult(exercise.name, paths.shown(directory), verdict.lines, seed)
