# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count the instructions of a system call from outside: the emulator counts, in a new machine.

Each count is of the first call for its n on a machine that has done nothing before, so a subject
cannot keep a result from one call to the next. QEMU's plugin counts (see lab/plugin/count.c), where
no module can write. The client reports each digit by executing an instruction that the plugin
records: the count goes on until the last digit is known, and the answer comes from what was
executed, not from memory that the module can change.

The module's own instructions are the same in every run. The kernel's vary by 0.02 % or less of the
call, because its allocator finds other blocks (common/fibctl_count.c makes them alike beforehand);
those of its interrupts are left out.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.base.background import WorkerPool
from grader.base.errors import MachineError
from grader.base.finding import Failure, Finding
from grader.lab import failure_classification, kernel_log, plugin
from grader.lab.machines import Contents, CountingMachine, Running
from grader.lab.plugin import BEGIN, END, RETURNED, Counts, Event
from grader.measure.guest_session import CALL_TIMEOUT, Measurements
from grader.measure.samples import Samples, Series, add_wholes
from grader.measure.workload import CountedWorkload, WrongAnswer

# Two counts that differ by less than this part are the same: several times the most that the
# kernel's part was seen to vary between boots, builds and loads of the host.
RESOLUTION = 0.001
# A call that would take more instructions is left out.
LIMIT = 2_000_000_000
# Emulated instructions a second on a slow and busy computer, and a call whose cost is not known:
# for time-outs.
SLOWEST = 15_000_000
UNKNOWN = 300_000_000

# Instructions of the client, see common/spoken_pread.S: of the call, and for each digit.
USER_CALL, USER_DIGIT = 7, 12
# The module's before the call: its driver's load and open() take 42. A stage has none there.
BEFORE = 100
# The module's outside of the phases are the driver's: 170. The kernel's there are those of the
# system call, of the room for digits (3,000) and of copying them (29,000 for 208,988). In one of
# some hundred calls another task runs at the call's end and takes 12,000.
DRIVER = 400
SYSTEM_CALL, SYSTEM_CALL_DIGIT = 40_000, 0.5
# The timer interrupts every 4,000,000 instructions and takes 2,700; other interrupts are rare.
INTERRUPT_EVERY, INTERRUPTS = 3_000_000, 3
INTERRUPT, INTERRUPTED = 6_000, 20_000


Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CallCount:
    """Instructions of one call: of each phase, and of all of it."""

    phases: dict[str, int]
    module: int  # of all of it, those of the module itself
    whole: int


@dataclass(frozen=True)
class NotCounted:
    """An n that was not measured: what one call would take, by what a smaller n took."""

    key: str
    n: int
    instructions: float

    def note(self) -> str:
        """Return the note for the reader of the figures."""
        return (
            f"F({self.n}) of {self.key} is not counted: it would take"
            f" {self.instructions / 1e9:.1f} billion instructions a call"
        )


def count(
    machine: CountingMachine,
    subjects: Iterable[CountedWorkload],
    contents: Callable[[Sequence[CountedWorkload]], Contents],
    tell: Tell,
    total: int = 1,
    limit: float = LIMIT,
) -> Measurements:
    """Return the instructions of each subject, by phase and n; several subjects at a time.

    subjects: they may come while others are counted; total: how many may come. limit: the most
    instructions of a call; for an n that is needed it is always LIMIT.
    """
    stream, lock = iter(subjects), threading.Lock()
    samples: Samples = {}
    findings: dict[str, Finding] = {}
    left_out: list[NotCounted] = []
    done = 0

    def work() -> None:
        nonlocal done
        while True:
            with lock:
                tell("count instructions", done, total)
                subject = next(stream, None)
            if subject is None:
                return
            found: Samples = {}
            finding = _subject(machine, subject, contents, limit, found, left_out)
            with lock:
                done += 1
                if finding is None:
                    samples.update(found)
                else:
                    findings[subject.key] = finding

    workers = min(total, len(os.sched_getaffinity(0)))
    side = WorkerPool([work] * workers, workers)
    for i in range(workers):
        side.result(i)
    return Measurements(samples, findings, tuple(one.note() for one in left_out))


def differ(before: float, after: float) -> bool:
    """Whether two counts differ by more than the metric can be wrong."""
    return abs(before - after) > RESOLUTION * min(before, after)


def _subject(
    machine: CountingMachine,
    subject: CountedWorkload,
    contents: Callable[[Sequence[CountedWorkload]], Contents],
    limit: float,
    samples: Samples,
    left_out: list[NotCounted],
) -> Finding | None:
    """Count every n of a subject, the small ones first. Return what is wrong with it, or None."""
    last_n, last_cost = 0, 0.0
    for n in sorted(set(subject.sizes)):
        # Schoolbook arithmetic: no subject's cost grows faster than by the square of n.
        expected = last_cost * (n / last_n) ** 2 if last_n else 0.0
        if expected > (LIMIT if n in subject.needed else limit):
            left_out.append(NotCounted(subject.key, n, expected))
            continue
        found = count_call(machine, subject, contents, n, expected)
        if isinstance(found, Finding):
            return found
        last_n, last_cost = n, float(found.whole)
        for phase, instructions in found.phases.items():
            samples[subject.key, phase, n] = Series([float(instructions)])
    add_wholes(samples, subject.key, subject.wholes)
    return None


def count_call(
    machine: CountingMachine,
    subject: CountedWorkload,
    contents: Callable[[Sequence[CountedWorkload]], Contents],
    n: int,
    expected: float = 0.0,
) -> CallCount | Finding:
    """Count one call, the first of a new machine; or return what is wrong with the subject.

    expected: instructions, about; 0 if not known.
    """
    digits = subject.digits(n)
    guest = machine.boot(contents([subject]), digits=len(digits))
    try:
        seconds = CALL_TIMEOUT * guest.speed_factor + 2 * (expected or UNKNOWN) / SLOWEST
        found = _count(n, digits, subject.call_sites, _events(guest, subject, n, seconds))
        return (
            kernel_log.first_problem(guest.console(), subject.module)
            or subject.machine_finding(guest, n)
            or found
        )
    except WrongAnswer as error:
        return error.finding
    except MachineError as error:
        return failure_classification.classify(error, guest, subject.module).within("count")
    finally:
        guest.stop()


def _events(guest: Running, subject: CountedWorkload, n: int, seconds: float) -> list[Event]:
    """Load the subject, have it answer once, and return the events of that."""
    section = f"/sys/module/{subject.module.name}/sections/.text"
    base = _number(guest.channel.check(f"insmod {subject.path} && cat {section}", seconds), 16)
    # A call instruction has five bytes: the second address is where it returns to.
    sites = [base + offset for _, offset in subject.call_sites]
    plugin.watch(guest.folder, [address for site in sites for address in (site, site + 5)])
    requests = [*subject.before, subject.count_request(n)]
    *opened, answer = guest.channel.stream_requests(subject.client, requests, seconds)
    if set(opened) - {"0"}:
        raise MachineError(f"{subject.client}: {opened[0]}")
    if _number(answer) < 0:
        raise WrongAnswer(Failure("measure", n, "digits", answer, f"a read() of F({n})"))
    return plugin.events(guest.folder)


def _number(text: str, base: int = 10) -> int:
    """Return a number that the machine has printed. Raise MachineError if it is none."""
    try:
        return int(text, base)
    except ValueError:
        raise MachineError(f"the machine says {text.strip()[:40]!r} for a number") from None


def _count(
    n: int, digits: str, sites: Sequence[tuple[str, int]], events: Sequence[Event]
) -> CallCount:
    """Return what the events come to. Raise WrongAnswer if they are not those of an honest call."""

    def hold(right: bool, what: str, expected: str, got: str) -> None:
        if not right:
            raise WrongAnswer(Failure("measure", n, expected, got, f"{what}, F({n})"))

    inner = [f"a{i}" for i in range(2 * len(sites))]
    expected = [BEGIN, *inner, RETURNED, END]
    names = [event.name for event in events]
    hold(names == expected, "the course of a call", " ".join(expected), " ".join(names[:50]))
    spoken = "".join(event.digits for event in events)
    hold(events[-1].digits == spoken == digits, "the digits of a call", digits, spoken)
    begin, end = events[0].counts, events[-1].counts
    phases: dict[str, int] = {}
    outside = end - begin
    for i, (phase, _) in enumerate(sites):
        took = events[2 + 2 * i].counts - events[1 + 2 * i].counts
        phases[phase] = phases.get(phase, 0) + took.work
        outside -= took
    whole = end - begin
    for what, most, got in _bounds(len(digits), begin, whole, outside):
        hold(got <= most, f"instructions {what}", f"{most:,} at most", f"{got:,}")
    user = USER_CALL + USER_DIGIT * len(digits)
    hold(whole.user == user, "instructions of the caller", f"{user:,}", f"{whole.user:,}")
    return CallCount(phases, whole.module, whole.work)


def _bounds(
    digits: int, begin: Counts, whole: Counts, outside: Counts
) -> Iterator[tuple[str, int, int]]:
    """Yield what an honest call has few of: what, the most, and how many there were."""
    interrupts = INTERRUPTS + (whole.work + whole.user) // INTERRUPT_EVERY
    kernel = outside.kernel - outside.interrupted
    yield "of the module before the call", BEFORE, begin.module
    yield "outside of the driver and its functions", DRIVER, outside.module
    yield "of the kernel around them", SYSTEM_CALL + int(SYSTEM_CALL_DIGIT * digits), kernel
    yield "outside of all code that was loaded", 0, whole.elsewhere
    yield "that are interrupts", interrupts, whole.interrupts
    yield "of interrupts", INTERRUPTED + INTERRUPT * whole.interrupts, whole.interrupted
