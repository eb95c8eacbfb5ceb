# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measure several workloads one after another in one machine, and attribute failures.

A workload gets a finding if it crashes or hangs the machine, answers wrongly or causes a kernel
error report. The other workloads are then measured again in a new machine, without the failed one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from grader.base import processor
from grader.base.errors import MachineError
from grader.base.finding import Finding
from grader.lab import failure_classification, kernel_log
from grader.lab.machines import Contents, Machine, Running
from grader.measure.samples import Samples
from grader.measure.workload import Reading, TimedWorkload, Work, WrongAnswer

# Seconds for one answer on an idle computer; the slowest call takes approximately two.
CALL_TIMEOUT = 6.0


@dataclass(frozen=True)
class Measurements:
    """The samples of the successful workloads and the findings of the failed ones, by key."""

    samples: Samples = field(default_factory=dict)
    findings: Mapping[str, Finding] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # Notes for the reader of the report.


class GuestSession:
    """A machine that contains all workloads, of which one is active at a time."""

    def __init__(self, guest: Running) -> None:
        self.guest = guest
        self.timeout = CALL_TIMEOUT * guest.speed_factor
        self.current: TimedWorkload | None = None

    def ask(self, subject: TimedWorkload, works: Sequence[Work]) -> list[Reading]:
        """Load the module, let it do the works, unload it. Return a reading of each work."""
        self.current = subject
        requests = [*subject.before, *(subject.request(work) for work in works)]
        answers = self.guest.channel.with_module(
            subject.path, subject.module.name, subject.client, requests, self.timeout
        )
        for _ in subject.before:
            first = next(answers).strip()
            if first != "0":  # on this computer it may be an error message of insmod
                raise MachineError(first)
        readings = [subject.reading(next(answers), work) for work in works]
        for _ in answers:
            pass
        return readings

    def kernel_finding(self) -> Finding | None:
        """Return the first problem in the kernel log, or None."""
        assert self.current is not None
        return kernel_log.first_problem(self.guest.console(), self.current.module)


def in_turn(
    machine: Machine,
    subjects: Sequence[TimedWorkload],
    contents: Callable[[Sequence[TimedWorkload]], Contents],
    work: Callable[[GuestSession, Sequence[TimedWorkload]], Measurements],
    what: str,
) -> Measurements:
    """Let `work` measure workloads in a machine. If a workload fails, repeat without it.

    contents: a function that returns the contents of a machine for these workloads. what: the name
    of the step for the findings, "measure" or "count".
    """
    running = list(subjects)
    findings: dict[str, Finding] = {}
    while running:
        # A user-mode kernel and its processes take turns. Each switch between them takes half as
        # long if they share a CPU. Beside other work this would be slower, as they cannot move.
        with processor.on_one_cpu():
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
    """Raise an exception for in_turn() if the kernel log has a problem."""
    finding = turn.kernel_finding()
    if finding is not None:
        raise _LogFinding(finding)
