# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count the instructions of a call, exactly, in a machine whose TSC counts instructions.

What is left to move a count there, and what is done about it:

- The timer's tick, 2,500 to 3,000 instructions every 4,000,000. Each measurement begins just
  behind a tick (the machine wakes sleepers by ticks only). What is shorter than the way to the
  next has none in it; the caller looks at a clock that ticks move, before and after. If one was
  there, it is counted again, beginning at several places between two ticks, of which the least
  counts: no tick is in that, or as few as can be. What is much longer has 0.075 % at most.
- The serial line's interrupts. The requests are a file in the machine, the answers too, and
  nothing is said while it measures.
- What the kernel's allocator has at hand. A warm-up of the same size comes first and is thrown
  away, blocks are held by few calls at a time, and the median of several measurements counts.

Always the same n. A subject that remembers results is caught elsewhere: by what its objects may
hold, and by the clock, which varies n.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from grader.base.errors import MachineError
from grader.base.finding import Failure
from grader.lab.machines import Contents, Machine
from grader.rulers import frame, outside
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
LONG = outside.TICK_PERIOD
LONG_MEASUREMENTS = 3
# Above this, once: ten seconds otherwise.
ENDLESS = 200_000_000
# A call that would take more is left out.
LIMIT = 2_000_000_000
# So often an account that does not fit its caller's clocks is asked for.
TRIES = 4
# Emulated instructions a second on a slow and busy computer, for time-outs.
SLOWEST = 15_000_000


Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Shot:
    """One measurement: how many calls, and how many instructions behind a tick it begins."""

    repeat: int
    behind: int = 0


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
        _every(turn, subject, 0, subject.right_to, rng)
        last_n, last_cost = 0, 0.0
        for n in sorted(set(subject.sizes)):
            # Schoolbook arithmetic: no subject's cost grows faster than by the square of n.
            expected = last_cost * (n / last_n) ** 2 if last_n else 0.0
            if expected > (LIMIT if n in subject.needed else limit):
                left_out.append(LeftOut(subject.key, n, expected))
                continue
            patience = turn.timeout + 2 * max(expected, 30_000_000) / SLOWEST
            first = _ask(turn, subject, n, [Shot(1)], rng, patience)[0]
            last_n, last_cost = n, float(_cost(first))
            counted = _repeated(turn, subject, n, first, rng)
            for phase in subject.phases:
                samples[subject.key, phase, n] = _series(phase, n, counted)
    add_wholes(samples, subject.key, subject.wholes)
    return samples, left_out


def _every(turn: Turn, subject: Subject, first: int, last: int, rng: random.Random) -> None:
    """Hold each n from first to last against its answer: what is right elsewhere may not be here.

    Raises WrongAnswer for the least n that is wrong.
    """
    spread = last - first
    work = Work(last, spread + 1, rng.getrandbits(64), spread)
    patience = turn.timeout + LIMIT / SLOWEST
    (answer,) = _answers(turn, subject, [f"{subject.tick} 0"], [subject.request(work)], patience)
    try:
        subject.reading(answer, work)
    except WrongAnswer:
        if spread:
            middle = first + spread // 2
            _every(turn, subject, first, middle, rng)
            _every(turn, subject, middle + 1, last, rng)
        raise


def _repeated(
    turn: Turn, subject: Subject, n: int, first: Reading, rng: random.Random
) -> list[tuple[int, Reading]]:
    """The measurements that count; what does not fit once may be the kernel's doing."""
    for _ in range(TRIES - 1):
        try:
            return _held(turn, subject, n, first, rng)
        except outside.Misfit:
            pass
    return _held(turn, subject, n, first, rng)


def _held(
    turn: Turn, subject: Subject, n: int, first: Reading, rng: random.Random
) -> list[tuple[int, Reading]]:
    """The measurements that count, each with its repetitions, held against what is outside."""
    cost = _cost(first)
    patience = turn.timeout + 12 * cost / SLOWEST

    def ask(shots: Sequence[Shot]) -> list[tuple[int, Reading]]:
        found = _ask(turn, subject, n, shots, rng, patience * len(shots))
        return [(shot.repeat, reading) for shot, reading in zip(shots, found)]

    if cost > ENDLESS and first.bare:
        found = [(1, first)]
        try:
            outside.check_counts(n, found)
        except outside.Misfit:
            found = ask([Shot(1)])
            outside.check_counts(n, found)
        return found
    if cost > LONG:
        counted = ask([Shot(1)] * (LONG_MEASUREMENTS if first.bare else LONG_MEASUREMENTS - 1))
        counted += [] if first.bare else ask([Shot(2)])
        outside.check_counts(n, counted)
        return counted
    # How many calls fit between two ticks.
    most = MAX_REPEAT_ALLOCATING if any(first.allocations.values()) else MAX_REPEAT
    repeat = max(1, min(most, int(WINDOW // max(cost + first.own, 1))))
    others = [] if first.bare and repeat == 1 else [Shot(_other(repeat))]
    # The first is a warm-up of that size.
    shots = [Shot(repeat)] * (1 + MEASUREMENTS) if cost <= WINDOW else _anywhere(repeat)
    found = ask([*shots, *others])
    counted, other = found[: len(shots)], found[len(shots) :]
    if cost <= WINDOW:
        counted = counted[1:]
        if any(reading.ticks_ns for _, reading in counted):
            counted = _least(ask(_anywhere(repeat)))
    else:
        counted = _least(counted)
    outside.check_counts(n, [*counted, *other])
    _check_lone(turn, subject, n, counted[0], rng, patience)
    return counted


def _other(repeat: int) -> int:
    """Another number of repetitions, to hold it against."""
    return repeat // 2 if repeat > 1 else 2


def _anywhere(repeat: int) -> list[Shot]:
    """Measurements that begin at even distances all over the time from a tick to the next."""
    step = outside.TICK_PERIOD // MEASUREMENTS
    return [Shot(repeat, i * step) for i in range(MEASUREMENTS)]


def _least(found: list[tuple[int, Reading]]) -> list[tuple[int, Reading]]:
    """The one with the fewest ticks in it: ticks only ever add."""
    return [min(found, key=lambda one: _cost(one[1]))]


@dataclass(frozen=True)
class Around:
    """What is around some work that does as good as nothing, by its caller's clocks."""

    repetition: float  # instructions in a measurement, for each
    lone: float  # and for each of the first phase alone


def around(
    machine: Machine,
    subject: Subject,
    contents: Callable[[Sequence[Subject]], Contents],
    n_list: Sequence[int],
    repeat: int,
) -> list[Around]:
    """Measure it at some n; the subject is the kit's own, and takes its driver's work for 0."""
    guest = machine.boot(contents([subject]))
    rng = random.Random(1)
    found = []
    try:
        turn = Turn(guest)
        with turn.of(subject):
            for n in n_list:
                shots = [Shot(2 * repeat)] * 4 + [Shot(repeat)] * 3
                read = _ask(turn, subject, n, shots, rng, turn.timeout)[1:]
                left = [r.outside_cycles - sum(r.cycles.values()) for r in read]
                more = statistics.median(left[:3]) - statistics.median(left[3:])
                work = Work(n, repeat, 0)
                ticks, requests = [f"{subject.tick} 0"] * 4, [subject.lone_request(work)] * 4
                answers = _answers(turn, subject, ticks, requests, turn.timeout)[1:]
                lone = statistics.median(subject.lone_reading(a, work)[0] for a in answers)
                each = read[-1].cycles[subject.phases[0]] / repeat
                found.append(Around(more / repeat, lone - each))
    finally:
        guest.stop()
    return found


def _check_lone(
    turn: Turn,
    subject: Subject,
    n: int,
    counted: tuple[int, Reading],
    rng: random.Random,
    patience: float,
) -> None:
    """Hold the first phase against itself, alone."""
    repeat, reading = counted
    work = Work(n, repeat, rng.getrandbits(64))
    request = subject.lone_request(work)
    if request:
        (answer,) = _answers(turn, subject, [f"{subject.tick} 0"], [request], patience * repeat)
        lone, ticks = subject.lone_reading(answer, work)
        outside.check_lone(n, subject.phases[0], lone, repeat, reading, ticks)


def _cost(reading: Reading) -> int:
    return sum(reading.cycles.values())


def _series(phase: str, n: int, counted: list[tuple[int, Reading]]) -> Series:
    for repeat, reading in counted:
        least = repeat * max(1, reading.least.get(phase, 1))
        if reading.cycles[phase] < least:
            title = f"the count of {phase}, F({n}), {repeat} times"
            expected, got = f"at least {least:,} instructions", f"{reading.cycles[phase]:,}"
            raise WrongAnswer(Failure("measure", n, expected, got, title))
    repeat, reading = counted[0]
    return Series(
        [one.cycles[phase] / times for times, one in counted],
        reading.allocations[phase] / repeat,
        reading.peak_bytes,
    )


def _ask(
    turn: Turn,
    subject: Subject,
    n: int,
    shots: Sequence[Shot],
    rng: random.Random,
    timeout: float,
) -> list[Reading]:
    """Have it do n some times, each at its place behind a tick; the answers, checked."""
    works = [Work(n, shot.repeat, rng.getrandbits(64)) for shot in shots]
    ticks = [f"{subject.tick} {shot.behind}" for shot in shots]
    answers = _answers(turn, subject, ticks, [subject.request(work) for work in works], timeout)
    return [subject.reading(answer, work) for answer, work in zip(answers, works)]


def _answers(
    turn: Turn, subject: Subject, ticks: list[str], requests: list[str], timeout: float
) -> list[str]:
    """The answers to requests, before each of which there is a tick."""
    lines = list(subject.before)
    for tick, request in zip(ticks, requests):
        lines += [tick, request]
    wire = turn.guest.wire
    wire.put("/tmp/requests", "\n".join([*lines, "quit", ""]).encode(), timeout)
    command = f"{subject.client} </tmp/requests >/tmp/answers; cat /tmp/answers"
    answers = wire.check(command, timeout).splitlines()
    # After those to what comes first, two for each measurement: to tick and to measure. One that
    # does not begin behind a tick is off by up to 0.8 %: not to be taken in silence.
    begin = len(subject.before)
    right = len(answers) == begin + 2 * len(requests)
    if not right or set(answers[:begin] + answers[begin::2]) != {"0"}:
        raise MachineError(f"{subject.client}: {answers[-1] if answers else 'no answer'}")
    return answers[begin + 1 :: 2]
