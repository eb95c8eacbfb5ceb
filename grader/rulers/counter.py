# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count the instructions of a call, exactly, in a machine whose TSC counts instructions.

What is left to move a count there, and what is done about it:

- The timer's tick, 2,500 to 3,000 instructions every 4,000,000. Each measurement begins just
  behind a tick (the machine wakes sleepers by ticks only). What is shorter than the way to the
  next has none in it; what is longer has the same number each time, 0.075 % at most.
- The serial line's interrupts. The requests are a file in the machine, the answers too, and
  nothing is said while it measures.
- What the kernel's allocator has at hand. A warm-up of the same size comes first and is thrown
  away, blocks are held by few calls at a time, and the median of several measurements counts.

Always the same n. A subject that remembers results is caught elsewhere: by what its objects may
hold, and by the clock, which varies n.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from grader.base.errors import MachineError
from grader.base.finding import Failure
from grader.lab.machines import Contents, Machine
from grader.rulers import frame
from grader.rulers.frame import Measured, Turn
from grader.rulers.samples import Samples, Series, add_wholes
from grader.rulers.subject import Reading, Subject, Work, WrongAnswer

# Two counts that differ by less than this part are the same: three times the most that was ever
# seen between boots, builds and loads of the host (0.03 %), and more than all ticks' share.
RESOLUTION = 0.001

# What a measurement should cost with all that is around it, well below a tick's 4,000,000.
WINDOW = 1_500_000
MAX_REPEAT = 1024
# With allocations: a batch holds its numbers until its end, which no other user would, and with
# 64 of them held the slabs' state shows: 2.5 % at n = 1,000 in stage 7. With 16, 0.001 %.
MAX_REPEAT_ALLOCATING = 16
MEASUREMENTS = 5
# A call above this is measured less often: a tick more or less no longer matters.
LONG = 30_000_000
LONG_MEASUREMENTS = 3
# Above this, once: ten seconds otherwise.
ENDLESS = 200_000_000
# A call that would take more is left out.
LIMIT = 2_000_000_000
# Emulated instructions a second on a slow and busy computer, for time-outs.
SLOWEST = 15_000_000


Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class LeftOut:
    """An n that was not measured: what one call would take, by what a smaller n took."""

    key: str
    n: int
    instructions: float


def count(
    machine: Machine,
    subjects: Iterable[Subject],
    everyone: Sequence[Subject],
    contents: Callable[[Sequence[Subject]], Contents],
    seed: int,
    tell: Tell,
    limit: float = LIMIT,
) -> Measured:
    """Instructions per call of each subject, by phase and n; all in one machine.

    subjects: whose turn it is, in order; they may come while others are measured. everyone: those
    that may come, who are put on board. limit: what a call may take, in instructions;
    one that is needed always LIMIT.
    """
    rng = random.Random(seed)
    stream = iter(subjects)
    samples: Samples = {}
    left_out: list[LeftOut] = []
    done = 0

    def work(turn: Turn, _running: Sequence[Subject]) -> Measured:
        nonlocal done
        # Whoever ended a machine has had its turn: the next one goes on with the others.
        for subject in stream:
            tell("count instructions", done, len(everyone))
            turn.current = subject
            own, missing = _subject(turn, subject, rng, limit)
            frame.no_complaint(turn)
            samples.update(own)
            left_out.extend(missing)
            done += 1
        return Measured(samples, {}, tuple(map(_note, left_out)))

    return frame.in_turn(machine, everyone, contents, work, "count")


def differ(before: float, after: float) -> bool:
    """Whether two counts differ by more than the ruler can be wrong."""
    return abs(before - after) > RESOLUTION * min(before, after)


def _note(one: LeftOut) -> str:
    return (
        f"F({one.n}) of {one.key} is not counted: it would take {one.instructions / 1e9:.1f}"
        " billion instructions a call"
    )


def _subject(
    turn: Turn, subject: Subject, rng: random.Random, limit: float
) -> tuple[Samples, list[LeftOut]]:
    """Load a subject, measure every n of its, unload it."""
    samples: Samples = {}
    left_out: list[LeftOut] = []
    with turn.of(subject):
        last_n, last_cost = 0, 0.0
        for n in sorted(set(subject.sizes)):
            # Schoolbook arithmetic: no subject's cost grows faster than by the square of n.
            expected = last_cost * (n / last_n) ** 2 if last_n else 0.0
            if expected > (LIMIT if n in subject.needed else limit):
                left_out.append(LeftOut(subject.key, n, expected))
                continue
            patience = turn.timeout + 2 * max(expected, LONG) / SLOWEST
            first = _ask(turn, subject, n, 1, 1, rng, patience)[0]
            last_n, last_cost = n, float(_cost(first))
            repeat, counted = _repeated(turn, subject, n, first, rng)
            for phase in subject.phases:
                samples[subject.key, phase, n] = _series(phase, n, repeat, counted)
    add_wholes(samples, subject.key, subject.wholes)
    return samples, left_out


def _repeated(
    turn: Turn, subject: Subject, n: int, first: Reading, rng: random.Random
) -> tuple[int, list[Reading]]:
    """How many calls each measurement holds, and the measurements that count."""
    cost = _cost(first)
    if cost > ENDLESS:
        return 1, [first]
    if cost > WINDOW:
        again = LONG_MEASUREMENTS if cost > LONG else MEASUREMENTS
        patience = turn.timeout + 2 * again * cost / SLOWEST
        return 1, _ask(turn, subject, n, 1, again, rng, patience)
    # How many calls fit between two ticks.
    most = MAX_REPEAT_ALLOCATING if any(first.allocations.values()) else MAX_REPEAT
    repeat = max(1, min(most, WINDOW // max(cost + first.overhead, 1)))
    return repeat, _ask(turn, subject, n, repeat, 1 + MEASUREMENTS, rng, turn.timeout)[1:]


def _cost(reading: Reading) -> int:
    return sum(reading.cycles.values())


def _series(phase: str, n: int, repeat: int, counted: list[Reading]) -> Series:
    counts = [reading.cycles[phase] for reading in counted]
    least = repeat * max(1, counted[0].least.get(phase, 1))
    if min(counts) < least:
        title = f"the count of {phase}, F({n}), {repeat} times"
        expected, got = f"at least {least:,} instructions", f"{min(counts):,}"
        raise WrongAnswer(Failure("measure", n, expected, got, title))
    return Series(
        [value / repeat for value in counts],
        counted[0].allocations[phase] / repeat,
        counted[0].peak_bytes,
    )


def _ask(
    turn: Turn,
    subject: Subject,
    n: int,
    repeat: int,
    times: int,
    rng: random.Random,
    timeout: float,
) -> list[Reading]:
    """Have it do n some times, each right behind a tick; the answers, checked."""
    works = [Work(n, repeat, rng.getrandbits(64), vary=False) for _ in range(times)]
    lines = list(subject.before)
    for work in works:
        lines += [subject.tick, subject.request(work)]
    wire = turn.guest.wire
    wire.put("/tmp/requests", "\n".join([*lines, "quit", ""]).encode(), timeout)
    command = f"{subject.client} </tmp/requests >/tmp/answers; cat /tmp/answers"
    answers = wire.check(command, timeout).splitlines()
    # After those to what comes first, two for each measurement: to tick and to measure. One that
    # does not begin behind a tick is off by up to 0.8 %: not to be taken in silence.
    begin = len(subject.before)
    right = len(answers) == begin + 2 * times
    if not right or set(answers[:begin] + answers[begin::2]) != {"0"}:
        raise MachineError(f"{subject.client}: {answers[-1] if answers else 'no answer'}")
    return [subject.reading(answer, work) for answer, work in zip(answers[begin + 1 :: 2], works)]
