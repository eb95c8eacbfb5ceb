# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count the instructions of a system call with the emulator, in a new machine for each n.

Each count is of the first call on a machine that has done nothing before, so a module cannot reuse
a result of an earlier call. A plugin of QEMU counts (see lab/plugin/count.c), and no module can
write to its memory. The client executes a marker instruction for each digit of the answer, and the
plugin records it. So the count ends after the last digit, and the recorded answer comes from
executed instructions, not from memory that the module can change.

The counts of a trusted module are stored beside it, and read again as long as the module, the
machine and the counting method are the same.

The number of a module's own instructions is the same in every run. The number of kernel
instructions varies by up to 0.02 % of the call, because the allocator returns other blocks;
common/fibctl_count.c reduces that by preparing the allocator. Interrupts are not counted.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.base import paths
from grader.base.background import WorkerPool
from grader.base.errors import MachineError
from grader.base.finding import Failure, Finding
from grader.lab import failure_classification, guest_program, kernel_log, plugin
from grader.lab.machines import Contents, CountingMachine, Machine, Running
from grader.lab.plugin import BEGIN, END, RETURNED, Counts, Event
from grader.measure.guest_session import CALL_TIMEOUT, Measurements
from grader.measure.samples import Samples, Series, add_wholes
from grader.measure.workload import CountedWorkload, WrongAnswer

# Two counts are equal if their relative difference is smaller. This is several times the largest
# observed variation of the kernel's part between boots, builds and loads of the host.
RESOLUTION = 0.001
# Limit for the instructions of a call; an n that would exceed it is not measured.
LIMIT = 2_000_000_000
# For time-outs: emulated instructions per second on a slow and busy computer, and the assumed
# instructions of a call whose cost is unknown.
SLOWEST = 15_000_000
UNKNOWN = 300_000_000

# Instructions of the client (common/spoken_pread.S) for the call and for each digit.
USER_CALL, USER_DIGIT = 7, 12
# Limit for the module's instructions before the call. The driver's init and open() take 42
# instructions.
BEFORE = 100
# Limits for instructions in the call but outside of the phases. In the module, the driver takes
# 170. In the kernel, the allocation of the digit buffer takes 3,000, the copy to the user takes
# 29,000 for 208,988 digits, and the system call takes the rest. In one of approximately a hundred
# calls another task runs at the end of the call and takes 12,000.
DRIVER = 400
SYSTEM_CALL, SYSTEM_CALL_DIGIT = 40_000, 0.5
# Limits for interrupts. A timer interrupt occurs every 4,000,000 instructions and takes 2,700
# instructions; other interrupts are rare.
INTERRUPT_EVERY, INTERRUPTS = 3_000_000, 3
INTERRUPT, INTERRUPTED = 6_000, 20_000


# The file with the counts of a module, in the folder of its build.
KEPT = "counts.json"

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class CallCount:
    """The instructions of one call, by phase and in total."""

    phases: dict[str, int]
    module: int  # Instructions of the module in the whole call.
    whole: int


@dataclass(frozen=True)
class NotCounted:
    """An n that was not measured, with the expected instructions of one call."""

    key: str
    n: int
    instructions: float

    def note(self) -> str:
        """Return a note for the reader of the report."""
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
    """Return the instructions of each workload, by phase and n. Count several in parallel.

    subjects: the workloads; the iterable may produce a workload while others are counted. total:
    the largest number of workloads. limit: the largest number of instructions of a call; for an n
    in subject.needed it is LIMIT instead.
    """
    stream, lock = iter(subjects), threading.Lock()
    samples: Samples = {}
    findings: dict[str, Finding] = {}
    excluded: list[NotCounted] = []
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
            finding = _subject(machine, subject, contents, limit, found, excluded)
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
    return Measurements(samples, findings, tuple(one.note() for one in excluded))


def differ(before: float, after: float) -> bool:
    """Return whether two counts differ by more than RESOLUTION."""
    return abs(before - after) > RESOLUTION * min(before, after)


def _subject(
    machine: CountingMachine,
    subject: CountedWorkload,
    contents: Callable[[Sequence[CountedWorkload]], Contents],
    limit: float,
    samples: Samples,
    excluded: list[NotCounted],
) -> Finding | None:
    """Count every n of a workload in ascending order. Return a finding if that fails, or None."""
    kept = KeptCounts(machine, subject)
    last_n, last_cost = 0, 0.0
    for n in sorted(set(subject.sizes)):
        # Quadratic growth is an upper bound, because even schoolbook multiplication is quadratic.
        expected = last_cost * (n / last_n) ** 2 if last_n else 0.0
        if expected > (LIMIT if n in subject.needed else limit):
            excluded.append(NotCounted(subject.key, n, expected))
            continue
        found = kept.get(n) or count_call(machine, subject, contents, n, expected)
        if isinstance(found, Finding):
            return found
        kept.add(n, found)
        last_n, last_cost = n, float(found.whole)
        for phase, instructions in found.phases.items():
            samples[subject.key, phase, n] = Series([float(instructions)])
    add_wholes(samples, subject.key, subject.wholes)
    return None


def machine_key(machine: Machine) -> dict[str, str]:
    """Return what a count depends on besides the module and the counting method."""
    return {"compiler": machine.kernel().compiler, **machine.facts()}


@cache
def method() -> str:
    """Return a digest of the counting method: the modules that count, and the kit's C files."""
    files = [Path(__file__), Path(plugin.__file__)]
    for folder in (paths.COMMON, guest_program.GUEST, guest_program.PLUGIN):
        files += folder.glob("*.[chS]")
    made_of = hashlib.sha256()
    for path in sorted(files):
        made_of.update(hashlib.sha256(path.read_bytes()).digest())
    return made_of.hexdigest()


class KeptCounts:
    """The counts of a module on one machine from earlier runs, by n; none if it is not trusted."""

    def __init__(self, machine: Machine, subject: CountedWorkload) -> None:
        self._calls: dict[int, CallCount] = {}
        self._path = subject.module.directory / KEPT if subject.trusted else None
        if self._path is None:
            return
        made_of = [
            *(machine_key(machine), method(), subject.client, subject.count_request(0)),
            hashlib.sha256(subject.module.stripped.read_bytes()).hexdigest(),
        ]
        self._made_of = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()
        try:
            value = json.loads(self._path.read_text(encoding="utf-8"))
            if value["made_of"] == self._made_of:
                self._calls = {int(n): CallCount(**call) for n, call in value["calls"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # A damaged file counts as absent.

    def get(self, n: int) -> CallCount | None:
        """Return the count for n, or None if it is not known."""
        return self._calls.get(n)

    def add(self, n: int, count: CallCount) -> None:
        """Store a count. If that is not possible, the next run counts again."""
        if self._path is None or n in self._calls:
            return
        self._calls[n] = count
        calls = {n: dataclasses.asdict(call) for n, call in self._calls.items()}
        new = self._path.with_suffix(f".new{os.getpid()}")
        try:
            new.write_text(json.dumps({"made_of": self._made_of, "calls": calls}))
            new.replace(self._path)
        except OSError:
            new.unlink(missing_ok=True)


def count_call(
    machine: CountingMachine,
    subject: CountedWorkload,
    contents: Callable[[Sequence[CountedWorkload]], Contents],
    n: int,
    expected: float = 0.0,
) -> CallCount | Finding:
    """Count the first call on a new machine. Return its count, or a finding if that fails.

    expected: the expected number of instructions; 0 if unknown.
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
    """Load the workload's module, request one answer, and return the recorded events."""
    section = f"/sys/module/{subject.module.name}/sections/.text"
    base = _number(guest.channel.check(f"insmod {subject.path} && cat {section}", seconds), 16)
    # A call instruction has five bytes, so site + 5 is its return address.
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
    """Parse a number that the machine has printed. Raise MachineError if it is not a number."""
    try:
        return int(text, base)
    except ValueError:
        raise MachineError(
            f"the machine printed {text.strip()[:40]!r} instead of a number"
        ) from None


def _count(
    n: int, digits: str, sites: Sequence[tuple[str, int]], events: Sequence[Event]
) -> CallCount:
    """Compute the counts from the events. Raise WrongAnswer if a normal call cannot cause them."""

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
    """Yield the quantities that are small in a normal call: a name, the limit and the value."""
    interrupts = INTERRUPTS + (whole.work + whole.user) // INTERRUPT_EVERY
    kernel = outside.kernel - outside.interrupted
    yield "of the module before the call", BEFORE, begin.module
    yield "outside of the driver and its functions", DRIVER, outside.module
    yield "of the kernel around them", SYSTEM_CALL + int(SYSTEM_CALL_DIGIT * digits), kernel
    yield "outside of all code that was loaded", 0, whole.elsewhere
    yield "that are interrupts", interrupts, whole.interrupts
    yield "of interrupts", INTERRUPTED + INTERRUPT * whole.interrupts, whole.interrupted
