# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a subject says of its work, held against what its caller's clocks say.

A module can write to any address of its kernel, to the stopwatch of the driver that times it too.
So whoever asks looks at the clocks as well, around the whole call, where no module reaches. Around
the work there is what the driver does besides: so much once, which does not depend on how often the
work is done, and so much for each time, which is known. Two calls that repeat the work differently
often differ by work and the second.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.base.finding import Failure
from grader.rulers.subject import Reading, WrongAnswer

# Of counts, in parts of them: what may be left over. Seen of right stages: 0.3 %.
PART = 0.01
# What a call takes once, at most: entering the kernel, room for the results. Seen: 3,600.
ONCE = 6_000
# Two calls differ by what the allocator has at hand, by so much at most. Seen: 220.
ALLOCATOR = 500
# Between two timer ticks, and what one takes at most.
TICK_PERIOD = 4_000_000
TICK = 3_000
# Per repetition, the same work repeated differently often: in parts, and for the allocator's state.
LINEAR = 0.02
LINEAR_ALLOCATOR = 300
# The first phase on its own: another call of the driver, whose blocks are given back at once.
LONE_PART = 0.02
LONE_ALLOCATOR = 1_500

# Of times: an attack that leaves a fourth of the true time is seen, one that leaves half is not.
TIMES = 2.0
# ... and a system call with all around it, on a busy computer; uml takes 50,000 ns for one.
TIMES_ONCE_NS = 1_000_000


class Misfit(WrongAnswer):
    """The two accounts do not fit each other.

    Once in some hundred calls the kernel does something else meanwhile, of 12,000 instructions:
    the driver lets others run between two batches. So what does not fit is tried again.
    """


def _ticks(reading: Reading) -> int:
    """What timer ticks may have taken in a call; one that begins behind a tick may have none."""
    return TICK * (reading.outside_cycles // (TICK_PERIOD - WAKE) + (reading.ticks_ns > 0))


# From a tick to where the call begins.
WAKE = 100_000


def check_counts(n: int, readings: Sequence[tuple[int, Reading]]) -> None:
    """Hold readings of one n against each other, each with its repetitions: raises Misfit.

    If they differ in their repetitions, it is the last that has others than those before.
    """
    *many, (repeat, other) = readings
    for times, reading in readings:
        if reading.bare:
            once = _left_over(reading)
            _fits(n, f"{times} times", once - ONCE / 2, ONCE / 2 + _ticks(reading), reading)
    for times, reading in many:
        if times == repeat:
            continue
        if not reading.bare and not other.bare:
            more = _left_over(reading) - _left_over(other)
            slack = ALLOCATOR + _ticks(reading) + _ticks(other)
            _fits(n, f"{times} times against {repeat}", more, slack, reading, other)
        _linear(n, (times, reading), (repeat, other))


def _work(reading: Reading) -> float:
    return sum(reading.cycles.values()) + reading.own


def _left_over(reading: Reading) -> float:
    return reading.outside_cycles - _work(reading)


def _fits(
    n: int, what: str, left: float, slack: float, a: Reading, b: Reading | None = None
) -> None:
    work = abs(_work(a) - (_work(b) if b else 0))
    if abs(left) > PART * work + slack:
        said = f"{work:,.0f} instructions by the module's account"
        seen = f"{work + left:,.0f} by its caller's"
        raise Misfit(Failure("measure", n, said, seen, f"the count of F({n}), {what}"))


def _linear(n: int, one: tuple[int, Reading], other: tuple[int, Reading]) -> None:
    """What is done twice as often takes twice as much, of each phase."""
    for phase in one[1].cycles:
        a, b = (reading.cycles[phase] / times for times, reading in (one, other))
        once = LINEAR_ALLOCATOR * _allocating(one, phase)
        slack = once + (_ticks(one[1]) + _ticks(other[1])) / min(one[0], other[0]) + 2
        if abs(a - b) > LINEAR * min(a, b) + slack:
            title = f"the count of {phase}, F({n}), {one[0]} times against {other[0]}"
            said = f"{a:,.1f} instructions a call as well"
            raise Misfit(Failure("measure", n, said, f"{b:,.1f}", title))


def _allocating(one: tuple[int, Reading], phase: str) -> float:
    """What part of the calls allocates, at most: one among many explains nothing of the others."""
    repeat, reading = one
    return min(1.0, reading.allocations[phase] / repeat)


def check_lone(n: int, phase: str, lone: float, repeat: int, reading: Reading, ticks: int) -> None:
    """Hold a phase against what it takes when it is asked for alone, by the caller's clocks."""
    said = reading.cycles[phase] / repeat
    once = LONE_ALLOCATOR * _allocating((repeat, reading), phase)
    slack = LONE_PART * said + once + (TICK * ticks + _ticks(reading)) / repeat + 4
    if abs(lone - said) > slack:
        title = f"the count of {phase}, F({n}), on its own"
        expected = f"{said:,.1f} instructions a call, as in a measurement"
        raise Misfit(Failure("measure", n, expected, f"{lone:,.1f}", title))


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


CLOCK_STEP_NS = 256


def check_times(n: int, fits: Sequence[bool], readings: Sequence[Reading]) -> None:
    """Raise Misfit if most rounds of one n do not fit."""
    if fits and sum(fits) < len(fits) / 2:
        said = statistics.median(sum(reading.ns.values()) for reading in readings)
        seen = statistics.median(reading.outside_ns for reading in readings)
        title = f"the time of F({n}), in {len(fits) - sum(fits)} of {len(fits)} rounds"
        expected = f"{said:,.0f} ns by the module's account"
        raise Misfit(Failure("measure", n, expected, f"{seen:,.0f} ns by its caller's", title))
