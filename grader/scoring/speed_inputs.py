# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Choose by the seed the n at which speed is judged, between half of the course's n and that n.

A fixed n would let a stage be fast at that n only. A larger n is not possible, because stages 2, 5
and 11 or the stages before them end at the course's n (93, 10,000, 1,000,000). For example, stage 2
is judged at an n from 47 to 93, where stage 1 takes three to five times as many instructions.

For a submission to a class, any n of that range may be drawn if this computer can count the
reference's instructions. For a learner, who waits, the n is one of 8 in expected/par.json, each 9 %
above the one before, so that the reference is counted at no other n. Stages with the same n in the
course share all 8. The instructions of a stage are also counted at the n of the next stage, because
par needs both.
"""

from __future__ import annotations

from grader.exercise.files import stages, tasks
from grader.exercise.files.stages import Stage
from grader.exercise.files.tasks import Speed, choices, course
from grader.lab.machines import Machine


def judged_at(machine: Machine, stage: Stage, seed: int) -> Speed | None:
    """Return the phase, n and points of a stage's speed on this machine; None if not judged."""
    speed = course(stage.number).speed
    if speed is None:
        return None
    arch = machine.kernel().arch
    here = all(stages.kit(one).fits(arch) for one in (stage.number, speed.before))
    return (tasks.drawn if stage.isolated and here else tasks.listed)(speed, seed)


def counted(number: int) -> tuple[int, ...]:
    """Return each n at which the par of this stage or the next stage needs this stage's count."""
    speeds = [(other, course(other).speed) for other in stages.manifests()]
    return tuple(
        sorted(
            {
                n
                for other, speed in speeds
                if speed and number in (other, speed.before)
                for n in choices(speed.n)
            }
        )
    )
