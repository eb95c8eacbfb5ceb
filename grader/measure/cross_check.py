# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare the times that a module reports with times that its caller measures.

A module can write to any kernel address, including the timer variables of the driver. Therefore
the client program also reads the clock before and after the whole call. Points depend on the
emulator's instruction counts (instructions.py); the times are only for the report.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.base.finding import Failure
from grader.measure.workload import Reading, WrongAnswer

# Largest accepted ratio of the caller's time to the reported time. A module that reports a fourth
# of the true time is detected; a module that reports half is not.
TIMES = 2.0
# Allowance for the system call itself on a busy computer; on uml it takes 50,000 ns.
TIMES_ONCE_NS = 1_000_000
CLOCK_STEP_NS = 256


def times_fit(readings: Sequence[Reading], repeat: int) -> bool:
    """Return whether the reported time of at least one reading agrees with its caller's time."""
    for reading in readings:
        own = reading.own_ns
        work = sum(reading.ns.values())
        # A trial run precedes the work. It computes once and converts to decimal three times.
        trial = 0 if reading.bare else 4 * work / repeat
        most = TIMES * (work + trial + own) + TIMES_ONCE_NS
        # The clock is read four times, and each reading may be wrong by one unit of the clock's
        # resolution.
        if work - 4 * CLOCK_STEP_NS <= reading.outside_ns <= most:
            return True
    return False


def check_times(n: int, fits: Sequence[bool], readings: Sequence[Reading]) -> None:
    """Raise WrongAnswer if the times disagree in most rounds of n. fits: a result per round."""
    if fits and sum(fits) < len(fits) / 2:
        message = statistics.median(sum(reading.ns.values()) for reading in readings)
        seen = statistics.median(reading.outside_ns for reading in readings)
        title = f"the time of F({n}), in {len(fits) - sum(fits)} of {len(fits)} rounds"
        expected = f"{message:,.0f} ns by the module's account"
        raise WrongAnswer(Failure("measure", n, expected, f"{seen:,.0f} ns by its caller's", title))
