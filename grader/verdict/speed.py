# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The line for speed of each stage in a run: its instructions against the reference's."""

from __future__ import annotations

from collections.abc import Sequence

from grader.base.progress import Progress
from grader.lab.machines import CountingMachine, Machine
from grader.rulers.samples import Samples
from grader.stage.stages import Stage
from grader.stage.tasks import Speed
from grader.verdict import par, points, speed_n
from grader.verdict.points import Line
from grader.verdict.status import Status


def _asked(stage: Stage, machine: Machine, seed: int) -> Speed | None:
    """Return what the speed of a stage is judged by, if it earns points."""
    if stage.shipped or stage.manifest.driver:
        return None
    return speed_n.judged_at(machine, stage.number, seed)


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
    wanted: set[par.Place] = set()
    for stage in stages:
        speed = _asked(stage, machine, seed)
        if speed and (stage.key, speed.phase, speed.n) in counted:
            wanted |= par.places(stage.number, speed)
    try:
        return par.counts(machine, wanted, progress.step)
    except par.NoReference as error:
        progress.say(f"note: no points for speed are given, without par: {error}")
        return None


def line(
    stage: Stage,
    seed: int,
    machine: Machine,
    counted: Samples,
    known: par.Counts | None,
    stands: Status,
) -> Line | None:
    """Return the line for speed, where the reference is known and the course asks for it."""
    if known is None:
        return None
    speed = _asked(stage, machine, seed)
    if speed is None:
        return None
    return points.speed_by_instructions(stage.number, stage.key, speed, counted, known, stands)
