# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The line for speed: instructions against the reference's, or time where none can be counted."""

from __future__ import annotations

from collections.abc import Sequence

from grader.base.errors import LabError, MachineError
from grader.base.finding import Code, Finding
from grader.base.progress import Progress
from grader.exercise.files import stages
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import Speed, course
from grader.exercise.workload.stage_workload import READ, StageWorkload, contents
from grader.lab import machines
from grader.lab.machines import CountingMachine, Machine
from grader.measure import instructions
from grader.measure.samples import Samples
from grader.scoring import par, pipeline, points, speed_inputs
from grader.scoring.pipeline import SpeedLine
from grader.scoring.points import Line
from grader.scoring.status import Status

# Rounds of the clock for one stage alone.
ROUNDS = 5


def _asked(stage: Stage, machine: Machine, seed: int) -> Speed | None:
    """Return what the speed of a stage is judged by, if it earns points."""
    if stage.shipped:
        return None
    return speed_inputs.judged_at(machine, stage.number, seed)


def reference(
    stages: Sequence[Stage],
    seed: int,
    machine: CountingMachine,
    counted: Samples,
    progress: Progress,
) -> par.Counts | None:
    """Return the reference's counts for the stages whose speed was counted and earns points.

    None where nothing was counted, or the reference is not here.
    """
    if not counted:
        return None
    wanted: set[par.BenchmarkSize] = set()
    for stage in stages:
        speed = _asked(stage, machine, seed)
        if speed and (stage.key, speed.phase, speed.n) in counted:
            wanted |= par.benchmark_sizes(stage.number, speed)
    try:
        return par.counts(machine, wanted, progress.step)
    except par.NoReference as error:
        progress.say(f"note: no points for speed are given, without par: {error}")
        return None


def by_instructions(
    stage: Stage,
    seed: int,
    machine: Machine,
    counted: Samples,
    known: par.Counts | None,
    stands: Status,
) -> Line | None:
    """Return the line for speed, where the reference is known and the course asks for it."""
    speed = _asked(stage, machine, seed) if known is not None else None
    if speed is None or known is None:
        return None
    return points.speed_by_instructions(stage.number, stage.key, speed, counted, known, stands)


def by_time(stage: Stage, timed: Samples, stands: Status) -> Line | None:
    """Return the line for speed by time, where the stage and the kit's stage before were timed.

    None for an untrusted stage: it could choose what a kernel that is a process here reports.
    """
    speed = course(stage.number).speed
    if speed is None or stage.shipped or stage.isolated:
        return None
    keys = (stages.kit(speed.before).key, stage.key)
    series = [timed.get((key, speed.phase, speed.n)) for key in keys]
    medians = [one.median for one in series if one is not None]
    if len(medians) < len(series):
        return None
    if stands.name != "ok":
        return points.speed_line(speed.points, 0, points.DEVICE_FIRST, Code.NOT_TRIED)
    return points.speed_by_time(speed, *medians)


def measure(stage: Stage, seed: int, progress: Progress) -> SpeedLine:
    """Return a function that measures what the line for speed needs, and makes the line.

    It counts instructions against par, at an n drawn by the seed; where that is impossible it
    measures time against the stage before. Nothing is measured unless the status is ok.
    """

    def line(stands: Status) -> Line | None:
        asked = course(stage.number).speed
        if asked is None:
            return None
        if stands.name != "ok":
            return points.speed_line(asked.points, 0, points.DEVICE_FIRST, Code.NOT_TRIED)
        try:
            machine = machines.counting()
            speed = speed_inputs.judged_at(machine, stage.number, seed) or asked
            known = par.counts(machine, par.benchmark_sizes(stage.number, speed), progress.step)
        except (LabError, MachineError) as error:
            # An untrusted stage is graded as the others are, or not yet.
            if stage.isolated:
                raise
            # The course says how many times as fast for its own n only.
            progress.say(f"note: speed is judged by time, at n = {asked.n:,}, without par: {error}")
            return _timed(stage, asked, seed, progress, stands)
        made = pipeline.build_subject(
            stage, machine, (speed.n,), (speed.n,), whole_read=speed.phase == READ
        )
        if isinstance(made, Finding):
            return _not_measured(speed, "in the kernel that counts", made)
        counted = instructions.count(machine, [made], contents, progress.step)
        for finding in counted.findings.values():
            return _not_measured(speed, "in the kernel that counts", finding)
        return points.speed_by_instructions(
            stage.number, made.key, speed, counted.samples, known, stands
        )

    return line


def _timed(stage: Stage, speed: Speed, seed: int, progress: Progress, stands: Status) -> Line:
    from grader.measure import timing  # scipy, which takes as long as all else to load

    machine = machines.get("uml")
    subjects: list[StageWorkload] = []
    for one in (stages.kit(speed.before), stage):
        made = pipeline.build_subject(one, machine, (speed.n,), whole_read=speed.phase == READ)
        if isinstance(made, Finding):
            return _not_measured(speed, f"stage {one.number}", made)
        subjects.append(made)
    effort = timing.SamplingPlan(ROUNDS, boots=1)
    timed = timing.measure(machine, subjects, contents, seed, progress.step, effort)
    lost = "could not be measured: make bench says why"
    return by_time(stage, timed.samples, stands) or points.speed_line(
        speed.points, 0, lost, Code.NOT_TRIED
    )


def _not_measured(speed: Speed, where: str, finding: Finding) -> Line:
    return points.speed_line(speed.points, 0, f"{where}: {finding.cause}", finding.code)
