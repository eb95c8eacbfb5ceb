# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""From all that was found wrong to one status and one cause: here, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.base.finding import Code, Finding
from grader.exercise.conformance.verify import Verified


@dataclass(frozen=True)
class ReportedFinding:
    """A finding, and who has found it: "verify", or the machine it was found on."""

    by: str
    finding: Finding


@dataclass(frozen=True)
class Status:
    """How a stage stands: "ok", or what is wrong first of all; the reason and what it rests on."""

    name: str
    cause: str = ""
    log: str = ""
    kind: Code | None = None  # where that says more than the name

    @property
    def code(self) -> Code:
        """The kind of what is wrong first of all."""
        return self.kind or Code(self.name)


def decide(found: Sequence[ReportedFinding]) -> Status:
    """The status that findings come to, in the order they were found.

    What ends a machine or leaves it in doubt says more than a wrong answer; a wrong answer says
    more than what the kernel logged about it, which is added to it.
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
    """How a stage stands by its verification alone."""
    return decide([ReportedFinding("verify", finding) for finding in verified.findings])


def _cause(one: ReportedFinding) -> str:
    return one.finding.cause if one.by == "verify" else f"{one.by}: {one.finding.cause}"
