# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Hold the time that a subject says its work took against its caller's clock.

A module can write to any address of its kernel, also to the stopwatch of the driver that times it.
So the caller looks at the clock as well, around the whole call, where no module reaches. Points
depend on counts of the emulator (instructions.py), times are for the report.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.base.finding import Failure
from grader.measure.workload import Reading, WrongAnswer

# An attack that leaves a fourth of the true time is seen, one that leaves half is not.
TIMES = 2.0
# ... and a system call with all around it, on a busy computer; uml takes 50,000 ns for one.
TIMES_ONCE_NS = 1_000_000
CLOCK_STEP_NS = 256


def times_fit(readings: Sequence[Reading], repeat: int) -> bool:
    """Whether one of some readings is about as long for its caller as it says it is."""
    for reading in readings:
        own = reading.own_ns
        work = sum(reading.ns.values())
        # A trial run beforehand: compute once, decimal three times.
        trial = 0 if reading.bare else 4 * work / repeat
        most = TIMES * (work + trial + own) + TIMES_ONCE_NS
        # The clock moves in steps, at each of the four looks at it.
        if work - 4 * CLOCK_STEP_NS <= reading.outside_ns <= most:
            return True
    return False


def check_times(n: int, fits: Sequence[bool], readings: Sequence[Reading]) -> None:
    """Raise WrongAnswer if most rounds of one n do not fit."""
    if fits and sum(fits) < len(fits) / 2:
        said = statistics.median(sum(reading.ns.values()) for reading in readings)
        seen = statistics.median(reading.outside_ns for reading in readings)
        title = f"the time of F({n}), in {len(fits) - sum(fits)} of {len(fits)} rounds"
        expected = f"{said:,.0f} ns by the module's account"
        raise WrongAnswer(Failure("measure", n, expected, f"{seen:,.0f} ns by its caller's", title))
