# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A learner's copy of a stage, graded: its tasks, the device, its speed, 100 points in all."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.base import paths
from grader.base.errors import LabError, MachineError
from grader.base.progress import Progress
from grader.course import skeleton
from grader.lab import machines
from grader.rulers import clock, counter
from grader.stage import build, function_tests, stages, tasks, verify
from grader.verdict import par

# What part of an operation's points is for small numbers.
SMALL_SHARE = 0.4
SPEED_ROUNDS = 5


@dataclass(frozen=True)
class Line:
    """One test as check prints it."""

    name: str
    earned: int
    possible: int
    remark: str
    task: int = 0  # the task to go back to, if the test is a task's own

    @property
    def full(self) -> bool:
        """Whether all its points are earned."""
        return self.earned == self.possible


@dataclass(frozen=True)
class Result:
    """A stage's points, and what they are for."""

    stage: int
    directory: str
    lines: tuple[Line, ...]

    @property
    def earned(self) -> int:
        """The points."""
        return sum(line.earned for line in self.lines)

    @property
    def possible(self) -> int:
        """100, or what is left of it where the speed was not measured."""
        return sum(line.possible for line in self.lines)


def task_lines(stage: stages.Stage, course: tasks.Course, seed: int) -> list[Line]:
    """One line a task: its operation tried in a program."""
    try:
        program = function_tests.program(stage)
    except LabError as error:
        said = [str(error)] + ["not tried"] * len(course.tasks)
        return [Line(t.name, 0, t.points, r, t.number) for t, r in zip(course.tasks, said)]
    lines = []
    for task in course.tasks:
        outcome = function_tests.outcome(stage, program, task.operation, seed)
        share = 1.0 if outcome.large else SMALL_SHARE if outcome.small else 0.0
        remark = outcome.fault or f"{outcome.tried} tries, all right"
        if 0 < share < 1:
            remark += f" (small numbers are right: {share * 100:.0f} %)"
        lines.append(Line(task.name, int(share * task.points), task.points, remark, task.number))
    return lines


def _first_wrong(result: verify.Verified) -> int | None:
    return min(
        (f.n for f in result.failures if f.test == "value" and f.n is not None), default=None
    )


def _device_line(result: verify.Verified, points: int) -> Line:
    """The stage as a module: nothing for an unclean one, then by how far its F(n) are right."""
    name, top = "device", result.built.stage.manifest.max_n
    if result.status == "ok":
        said = f"loads, unloads, answers all calls, F(0) to F({top:,}) are right, the log is clean"
        return Line(name, points, points, said)
    wrong = _first_wrong(result)
    others = [f for f in result.failures if f.test not in ("value", "abi")]
    if result.status != "wrong" or others or wrong is None:
        return Line(name, 0, points, f"{result.status}: {result.cause}")
    share = 0.0 if wrong <= 93 else 0.3 if wrong <= 1000 else 0.6
    if top <= 93:
        share = 0.0 if wrong <= 46 else 0.3
    remark = _value_remark(result, wrong)
    if share:
        remark += f" (below that all are right: {share * 100:.0f} %)"
    return Line(name, int(share * points), points, remark)


def _value_remark(result: verify.Verified, n: int) -> str:
    failure = next(f for f in result.failures if f.test == "value" and f.n == n)
    want, got = failure.expected, failure.got
    at = failure.first_difference
    if at is None or len(want) <= 24:
        return f"F({n:,}): expected {want[:48]}, got {got[:48]}"
    begin = max(0, at - 6)
    return (
        f"F({n:,}) has a wrong digit at position {at + 1}:"
        f" expected {want[begin : at + 8]}, got {got[begin : at + 8]}"
    )


def _copy_to_measure(stage: stages.Stage, n: int, label: str) -> stages.Stage:
    manifest = dataclasses.replace(stage.manifest, measure=(n,))
    return dataclasses.replace(stage, manifest=manifest, label=label)


def _speed_line(
    built: build.Built, result: verify.Verified, speed: tasks.Speed, seed: int, tell: Progress
) -> Line:
    """By instructions against par; without that ruler by time, against the stage before."""
    name, stage = "speed", built.stage
    if result.status != "ok":
        return Line(name, 0, speed.points, "is measured when the device is right")
    known = _par(stage.number, speed)
    if known is not None:
        share, remark = _by_instructions(stage, speed, known, seed, tell)
    else:
        share, remark = _by_time(stage, speed, seed, tell)
    return Line(name, int(share * speed.points), speed.points, remark)


def _par(number: int, speed: tasks.Speed) -> par.Par | None:
    """The reference's counts, where there is the ruler for them; None where there is not."""
    try:
        known = par.load(machines.get("qemu"))
    except (LabError, MachineError):
        return None
    place = (speed.phase, speed.n)
    if known is None or any(place not in known.counts[k] for k in (speed.before, number)):
        return None
    return known


def _by_instructions(
    stage: stages.Stage, speed: tasks.Speed, known: par.Par, seed: int, tell: Progress
) -> tuple[float, str]:
    machine = machines.get("qemu")
    place = (speed.phase, speed.n)
    built = build.build(_copy_to_measure(stage, speed.n, f"own-{stage.key}"), machine.kernel())
    if not built.ok:
        return 0.0, f"in the kernel that counts: {built.cause}"
    mine = verify.Verified(built)
    samples, _ = counter.measure_exact(machine, [mine], seed, tell.step)
    series = samples.get((mine.built.stage.key, *place))
    if series is None:
        return 0.0, f"in the kernel that counts: {mine.cause}"
    count = statistics.median(series.values)
    best, worst = known.counts[stage.number][place], known.counts[speed.before][place]
    remark = (
        f"{speed.phase} of F({speed.n:,}) takes {count:,.0f} instructions; par is {best:,.0f},"
        f" and up to {best * known.tolerance:,.0f} earns all points, the {worst:,.0f} of stage"
        f" {speed.before} none"
    )
    return par.share(count, best * known.tolerance, worst), remark


def _by_time(
    stage: stages.Stage, speed: tasks.Speed, seed: int, tell: Progress
) -> tuple[float, str]:
    machine = machines.get("uml")
    pair = [
        _copy_to_measure(stages.kit(speed.before), speed.n, "before"),
        _copy_to_measure(stage, speed.n, f"own-{stage.key}"),
    ]
    verified = []
    for one in pair:
        made = build.build(one, machine.kernel())
        if not made.ok:
            return 0.0, f"stage {one.number}: {made.cause}"
        verified.append(verify.Verified(made))
    samples = clock.measure(machine, verified, SPEED_ROUNDS, seed, tell.step)
    series = [samples.get((one.key, speed.phase, speed.n)) for one in pair]
    if any(s is None or not s.values for s in series):
        return 0.0, "could not be measured: make bench says why"
    old, new = (statistics.median(s.values) for s in series if s is not None)
    ratio = old / new
    remark = (
        f"{speed.phase} of F({speed.n:,}) is {ratio:.3g} times as fast as stage"
        f" {speed.before}'s ({old:,.0f} ns, {new:,.0f} ns); {speed.par:g} times earns all points,"
        " as fast as before none"
    )
    return min(1.0, max(0.0, (ratio - 1) / (speed.par - 1))), remark


def check(
    number: int, directory: Path, seed: int, machine_name: str = "uml", speed: bool = True
) -> Result:
    """Grade one copy of a stage: the tasks, the device, the speed. Points come to 100."""
    course = tasks.course(number)
    stage = stages.single(directory, directory.name, number)
    progress = Progress()
    progress.step(f"stage {number}: try the operations")
    lines = task_lines(stage, course, seed)
    progress.step(f"stage {number}: build the module")
    machine = machines.get(machine_name)
    built = build.build(stage, machine.kernel())
    progress.step(f"stage {number}: verify it in the lab kernel")
    result = verify.verify(built, machine, seed, True, lambda _what: None)
    lines.append(_device_line(result, course.device_points))
    if course.speed and speed:
        lines.append(_speed_line(built, result, course.speed, seed, progress))
    progress.clear()
    return Result(number, paths.shown(directory), tuple(lines))


def earlier(number: int, seed: int, machine_name: str) -> Iterator[str]:
    """Check the learner's copies of the stages before once more, but for speed: a line each."""
    for before in range(1, number):
        directory = skeleton.learner_directory(before)
        if directory is None:
            continue
        result = check(before, directory, seed, machine_name, speed=False)
        said = f"stage {before}, {result.directory}: {result.earned} of {result.possible} points"
        if tasks.course(before).speed:
            said += " without speed"
        wrong = next((line for line in result.lines if not line.full), None)
        yield f"{said}; {wrong.name}: {wrong.remark}" if wrong else said
