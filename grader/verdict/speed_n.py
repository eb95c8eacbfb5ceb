# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""At which n a stage's speed is judged: the course's, or one of 31 below it, by the seed.

A stage that is fast at one n only, which everybody knows, is not fast. The n lie from half of the
course's n to that, each 2.2 % above the one before: upwards there is no room, since stages 2, 5
and 11 or those before them end there (93, 10,000, 1,000,000). So stage 2 is judged from 48 to 93,
where stage 1 takes three to five times its instructions. Stages with the same n of the course
share all 32, and a stage is counted at those of the one behind it too: par needs both.
"""

from __future__ import annotations

from grader.stage import stages
from grader.stage.tasks import choices, course


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
