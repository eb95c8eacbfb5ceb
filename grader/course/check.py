# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A learner's copy of a stage, graded: its tasks, the device, its speed, 100 points in all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.base import paths
from grader.base.errors import LabError, MachineError
from grader.base.finding import Code
from grader.base.progress import Progress
from grader.course import skeleton
from grader.lab import machines
from grader.lab.machines import Machine
from grader.rulers import counter
from grader.stage import build, stages, tasks, verify
from grader.stage.first import verify as first_verify
from grader.stage.measured import READ, StageSubject, contents
from grader.stage.stages import Stage
from grader.stage.tasks import Speed
from grader.stage.verify import Verified
from grader.verdict import judged, par, points, speed_n
from grader.verdict.points import Line
from grader.verdict.status import Status

# Rounds, where only time can be measured.
SPEED_ROUNDS = 5


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
    if stage.manifest.driver:
        verified = _driver(stage, machines.get("uml"), Progress(), all_tasks=False)
        return points.driver_lines(course, verified)
    return points.task_lines(course, judged.try_functions(stage, course, seed))


def _speed_line(stage: Stage, stands: Status, course: Speed, seed: int, tell: Progress) -> Line:
    """By instructions against par, at an n by the seed; else by time, against the stage before."""
    if stands.name != "ok":
        return points.speed_line(course.points, 0, points.DEVICE_FIRST, Code.NOT_TRIED)
    try:
        machine = machines.counting()
        speed = speed_n.judged_at(machine, stage.number, seed) or course
        known = par.counts(machine, par.places(stage.number, speed), tell.step)
    except (LabError, MachineError) as error:
        # An untrusted stage is graded as the others are, or not yet.
        if stage.isolated:
            raise
        # The course says how many times as fast for its own n only.
        tell.say(f"note: speed is judged by time, at n = {course.n:,}, without par: {error}")
        return _by_time(stage, course, seed, tell)
    built = build.build(stage, machine.kernel())
    if built.objection:
        said = f"in the kernel that counts: {built.objection}"
        return points.speed_line(speed.points, 0, said, Code.WRONG)
    subject = StageSubject(built, (speed.n,), whole_read=speed.phase == READ, needed=(speed.n,))
    counted = counter.count(machine, [subject], contents, tell.step)
    for finding in counted.findings.values():
        said = f"in the kernel that counts: {finding.cause}"
        return points.speed_line(speed.points, 0, said, finding.code)
    return points.speed_by_instructions(
        stage.number, subject.key, speed, counted.samples, known, stands
    )


def _by_time(stage: Stage, speed: Speed, seed: int, tell: Progress) -> Line:
    from grader.rulers import clock  # scipy, which takes as long as all else to load

    machine = machines.get("uml")
    subjects = []
    for label, one in (("before", stages.kit(speed.before)), ("own", stage)):
        made = build.build(one, machine.kernel())
        if made.objection:
            said = f"stage {one.number}: {made.objection}"
            return points.speed_line(speed.points, 0, said, Code.WRONG)
        subjects.append(StageSubject(made, (speed.n,), label, speed.phase == READ))
    effort = clock.Effort(SPEED_ROUNDS, boots=1)
    timed = clock.measure(machine, subjects, contents, seed, tell.step, effort)
    series = [timed.samples.get((label, speed.phase, speed.n)) for label in ("before", "own")]
    medians = [one.median for one in series if one is not None]
    if len(medians) < len(series):
        said = "could not be measured: make bench says why"
        return points.speed_line(speed.points, 0, said, Code.NOT_TRIED)
    return points.speed_by_time(speed, *medians)


def judge(
    stage: Stage, seed: int, machine: Machine, speed: bool, progress: Progress
) -> judged.Judged:
    """Grade a stage: the tasks, the device, the speed."""
    number, course = stage.number, tasks.course(stage.number)
    if stage.manifest.driver:
        return judged.judge(_driver(stage, machine, progress))
    progress.step(f"stage {number}: try the operations")
    tried = judged.try_functions(stage, course, seed)
    progress.step(f"stage {number}: build the module")
    built = build.build(stage, machine.kernel())
    for warning in built.module.warnings:
        progress.say(warning)
    progress.step(f"stage {number}: verify it in the lab kernel")
    result = verify.verify(built, machine, seed, False, lambda _what: None)
    right = judged.judge(result, (), tried)
    if course.speed and speed:
        line = _speed_line(stage, right.status, course.speed, seed, progress)
        right = judged.judge(result, (), tried, line)
    progress.clear()
    return right


def _driver(stage: Stage, machine: Machine, progress: Progress, all_tasks: bool = True) -> Verified:
    """A learner's driver, task by task; all of them, or up to the first that is wrong."""
    progress.step(f"stage {stage.number}: build the module")
    built = build.build(stage, machine.kernel())
    for warning in built.module.warnings:
        progress.say(warning)
    verified = first_verify.verify(
        built, machine, lambda what: progress.step(f"stage {stage.number}: {what}"), all_tasks
    )
    progress.clear()
    return verified


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
