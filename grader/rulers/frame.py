# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What all rulers do: one machine, the subjects in it one after another, and who is to blame.

When one of them ends the machine, hangs it, answers wrongly or makes the kernel complain, that is
a finding; the others begin anew, in a new machine, without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from grader.base.errors import MachineError
from grader.base.finding import Finding
from grader.lab import ending, kernel_log
from grader.lab.machines import Contents, Machine, Running
from grader.rulers.samples import Samples
from grader.rulers.subject import Reading, Subject, Work, WrongAnswer

# Seconds on the lab machine for one answer; the slowest call takes about two.
CALL_TIMEOUT = 6.0


@dataclass(frozen=True)
class Measured:
    """What came of it: samples of those that went through, findings of the others by key."""

    samples: Samples = field(default_factory=dict)
    findings: Mapping[str, Finding] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what the reader of the figures should know


class Turn:
    """A machine with all subjects on board, of which one has its turn at a time."""

    def __init__(self, guest: Running) -> None:
        self.guest = guest
        self.timeout = CALL_TIMEOUT * guest.speed_factor
        self.current: Subject | None = None

    @contextmanager
    def of(self, subject: Subject) -> Iterator[None]:
        """Load it, and unload it; from here on it is to blame."""
        self.current = subject
        self.guest.wire.check(f"insmod {subject.path}", self.timeout)
        yield
        self.guest.wire.check(f"rmmod {subject.module.name}", self.timeout)

    def ask(self, subject: Subject, works: Sequence[Work]) -> list[Reading]:
        """Load it, have it do some works, unload it: in one command, since each takes a while."""
        self.current = subject
        requests = [*subject.before, *(subject.request(work) for work in works)]
        load, unload = f"insmod {subject.path}", f"rmmod {subject.module.name}"
        whole = f"{load} && {subject.client} && {unload}"
        answers = self.guest.wire.converse(subject.client, requests, self.timeout, whole)
        for _ in subject.before:
            first = next(answers).strip()
            if first != "0":  # insmod, most often, which says why not
                raise MachineError(first)
        readings = [subject.reading(next(answers), work) for work in works]
        for _ in answers:
            pass
        return readings

    def look(self) -> Finding | None:
        """What the kernel has complained about, if it has."""
        assert self.current is not None
        return kernel_log.dirt(self.guest.console(), self.current.module)


def in_turn(
    machine: Machine,
    subjects: Sequence[Subject],
    contents: Callable[[Sequence[Subject]], Contents],
    work: Callable[[Turn, Sequence[Subject]], Measured],
    what: str,
) -> Measured:
    """Let `work` measure subjects in a machine; again without whoever went wrong.

    contents: what the machine must have on board for these subjects. what is being done, for the
    findings: "measure", "count".
    """
    running = list(subjects)
    findings: dict[str, Finding] = {}
    while running:
        guest = machine.boot(contents(running))
        turn = Turn(guest)
        turn.current = running[0]
        try:
            measured = work(turn, running)
        except _Complaint as error:
            finding = error.finding
        except WrongAnswer as error:
            finding = error.finding
        except MachineError as error:
            finding = ending.of(error, guest, turn.current.module)
        else:
            return Measured(measured.samples, findings, measured.notes)
        finally:
            guest.stop()
        culprit = turn.current
        findings[culprit.key] = finding if finding.failure else finding.within(what)
        running.remove(culprit)
    return Measured({}, findings)


class _Complaint(Exception):
    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.cause)
        self.finding = finding


def no_complaint(turn: Turn) -> None:
    """End the turn of the current subject if the kernel has complained."""
    finding = turn.look()
    if finding is not None:
        raise _Complaint(finding)
