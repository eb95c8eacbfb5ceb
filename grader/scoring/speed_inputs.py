# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Choose the n that a stage's speed is judged at: from half of the course's n to that, by the seed.

A stage that is fast at one n only, which everybody knows, is not fast. Larger n are not possible:
stages 2, 5 and 11 or those before them end at the course's n (93, 10,000, 1,000,000). So stage 2 is
judged from 47 to 93, where stage 1 takes three to five times its instructions.

Any n may be drawn where the reference can be counted at it. Where the reference is not here, the n
is one of the 8 in expected/par.json, each 9 % above the one before. Stages with the same n of the
course share all 8, and a stage is counted at those of the one behind it too: par needs both.
"""

from __future__ import annotations

from grader.exercise.files import stages, tasks
from grader.exercise.files.tasks import Speed, choices, course
from grader.lab.machines import Machine


def judged_at(machine: Machine, number: int, seed: int) -> Speed | None:
    """Return what the speed of a stage is judged by on this machine; None if it is not judged."""
    speed = course(number).speed
    if speed is None:
        return None
    arch = machine.kernel().arch
    here = all(stages.kit(one).fits(arch) for one in (number, speed.before))
    return (tasks.drawn if here else tasks.listed)(speed, seed)


def counted(number: int) -> tuple[int, ...]:
    """Where the reference's stage is counted for par: for itself, and for the stage after it."""
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
