# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What all metrics do: one machine, the subjects in it one after another, and who is to blame.

When one of them ends the machine, hangs it, answers wrongly or makes the kernel complain, that is
a finding; the others begin anew, in a new machine, without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from grader.base.errors import MachineError
from grader.base.finding import Finding
from grader.lab import failure_classification, kernel_log
from grader.lab.machines import Contents, Machine, Running
from grader.measure.samples import Samples
from grader.measure.workload import Reading, TimedWorkload, Work, WrongAnswer

# Seconds on the lab machine for one answer; the slowest call takes about two.
CALL_TIMEOUT = 6.0


@dataclass(frozen=True)
class Measurements:
    """What came of it: samples of those that went through, findings of the others by key."""

    samples: Samples = field(default_factory=dict)
    findings: Mapping[str, Finding] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what the reader of the figures should know


class GuestSession:
    """A machine with all subjects on board, of which one has its turn at a time."""

    def __init__(self, guest: Running) -> None:
        self.guest = guest
        self.timeout = CALL_TIMEOUT * guest.speed_factor
        self.current: TimedWorkload | None = None

    @contextmanager
    def workload_loaded(self, subject: TimedWorkload) -> Iterator[None]:
        """Load it, and unload it; from here on it is to blame."""
        self.current = subject
        self.guest.channel.check(f"insmod {subject.path}", self.timeout)
        yield
        self.guest.channel.check(f"rmmod {subject.module.name}", self.timeout)

    def ask(self, subject: TimedWorkload, works: Sequence[Work]) -> list[Reading]:
        """Load it, have it do some works, unload it: in one command, since each takes a while."""
        self.current = subject
        requests = [*subject.before, *(subject.request(work) for work in works)]
        load, unload = f"insmod {subject.path}", f"rmmod {subject.module.name}"
        whole = f"{load} && {subject.client} && {unload}"
        answers = self.guest.channel.stream_requests(subject.client, requests, self.timeout, whole)
        for _ in subject.before:
            first = next(answers).strip()
            if first != "0":  # insmod, most often, which says why not
                raise MachineError(first)
        readings = [subject.reading(next(answers), work) for work in works]
        for _ in answers:
            pass
        return readings

    def kernel_finding(self) -> Finding | None:
        """What the kernel has complained about, if it has."""
        assert self.current is not None
        return kernel_log.first_problem(self.guest.console(), self.current.module)


def in_turn(
    machine: Machine,
    subjects: Sequence[TimedWorkload],
    contents: Callable[[Sequence[TimedWorkload]], Contents],
    work: Callable[[GuestSession, Sequence[TimedWorkload]], Measurements],
    what: str,
) -> Measurements:
    """Let `work` measure subjects in a machine; again without whoever went wrong.

    contents: what the machine must have on board for these subjects. what is being done, for the
    findings: "measure", "count".
    """
    running = list(subjects)
    findings: dict[str, Finding] = {}
    while running:
        guest = machine.boot(contents(running))
        turn = GuestSession(guest)
        turn.current = running[0]
        try:
            measured = work(turn, running)
        except _LogFinding as error:
            finding = error.finding
        except WrongAnswer as error:
            finding = error.finding
        except MachineError as error:
            finding = failure_classification.classify(error, guest, turn.current.module)
        else:
            return Measurements(measured.samples, findings, measured.notes)
        finally:
            guest.stop()
        culprit = turn.current
        findings[culprit.key] = finding if finding.failure else finding.within(what)
        running.remove(culprit)
    return Measurements({}, findings)


class _LogFinding(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.cause)
        self.finding = finding


def no_complaint(turn: GuestSession) -> None:
    """End the turn of the current subject if the kernel has complained."""
    finding = turn.kernel_finding()
    if finding is not None:
        raise _LogFinding(finding)
