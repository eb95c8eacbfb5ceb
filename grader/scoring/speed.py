# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Points for speed: by instructions against par, or by time if instructions cannot be counted."""

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
from grader.measure import instructions, timing
from grader.measure.samples import Samples
from grader.scoring import par, pipeline, points, speed_inputs
from grader.scoring.pipeline import SpeedLine
from grader.scoring.points import Line
from grader.scoring.status import Status

# The number of timing rounds when one stage alone is graded.
ROUNDS = 5


def _asked(stage: Stage, machine: Machine, seed: int) -> Speed | None:
    """Return the phase, n and points of the stage's speed; None if the speed earns no points."""
    if stage.shipped:
        return None
    return speed_inputs.judged_at(machine, stage, seed)


def reference(
    stages: Sequence[Stage],
    seed: int,
    machine: CountingMachine,
    counted: Samples,
    progress: Progress,
) -> par.Counts | None:
    """Return the reference's counts for the stages whose speed earns points by instructions.

    Return None if nothing was counted or the reference is not available.
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
    """Return the line for speed by instructions; None if the course or the reference has none."""
    speed = _asked(stage, machine, seed) if known is not None else None
    if speed is None or known is None:
        return None
    return points.speed_by_instructions(stage.number, stage.key, speed, counted, known, stands)


def by_time(stage: Stage, timed: Samples, stands: Status) -> Line | None:
    """Return the line for speed by time, if the stage and the kit's stage before it were timed.

    Return None for an untrusted stage, because it can falsify the time that machine uml reports.
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
    """Return a function that measures a stage's speed and returns its line of points.

    The function counts instructions against par, at an n drawn by the seed. If counting is not
    possible, it compares the time with the stage before. It measures only if the status is ok.
    """

    def line(stands: Status) -> Line | None:
        asked = course(stage.number).speed
        if asked is None:
            return None
        if stands.name != "ok":
            return points.speed_line(asked.points, 0, points.DEVICE_FIRST, Code.NOT_TRIED)
        try:
            machine = machines.counting()
            speed = speed_inputs.judged_at(machine, stage, seed) or asked
            known = par.counts(machine, par.benchmark_sizes(stage.number, speed), progress.step)
        except (LabError, MachineError) as error:
            # All untrusted stages must be graded by the same metric, so do not fall back to time.
            if stage.isolated:
                raise
            # The course states the required speedup only for the n in its tables.
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
