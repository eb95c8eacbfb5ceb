# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Combine all findings of a stage into one status with one cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.base.finding import Code, Finding
from grader.exercise.conformance.verify import Verified


@dataclass(frozen=True)
class ReportedFinding:
    """A finding and its source: "verify" or the name of the machine."""

    by: str
    finding: Finding


@dataclass(frozen=True)
class Status:
    """The status of a stage: "ok" or the gravest finding, with its cause and log."""

    name: str
    cause: str = ""
    log: str = ""
    kind: Code | None = None  # set only if this code is more precise than the name

    @property
    def code(self) -> Code:
        """Return the code of the finding that decided the status."""
        return self.kind or Code(self.name)


def decide(found: Sequence[ReportedFinding]) -> Status:
    """Return the status for findings that are in the order of their discovery.

    A crash or time-out outweighs a wrong answer, and a wrong answer outweighs a message in the
    kernel log. The log message is appended to the cause of a wrong answer.
    """
    if not found:
        return Status("ok")
    grave = [one for one in found if one.finding.status not in ("wrong", "dirty-log")]
    wrong = [one for one in found if one.finding.status == "wrong"]
    dirty = [one for one in found if one.finding.status == "dirty-log"]
    first = (grave or wrong or dirty)[0]
    cause, log = _cause(first), first.finding.excerpt
    if first.finding.status == "wrong" and dirty and not grave:
        cause += f"; the kernel log says: {dirty[0].finding.cause}"
        log = dirty[0].finding.excerpt
    return Status(first.finding.status, cause, log, first.finding.kind)


def decide_verified(verified: Verified) -> Status:
    """Return the status of a stage by its verification alone."""
    return decide([ReportedFinding("verify", finding) for finding in verified.findings])


def _cause(one: ReportedFinding) -> str:
    return one.finding.cause if one.by == "verify" else f"{one.by}: {one.finding.cause}"
