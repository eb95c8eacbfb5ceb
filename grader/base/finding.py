# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Findings: immutable values that state what is wrong, by a code and by a text for people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

# Above this many characters, expected and got are shown around their first difference.
WIDE = 48


class Code(str, Enum):
    """The kind of a finding or of a line of points.

    Code decides by this and never by a text, so that any text can be changed or translated. The
    values are part of report.json, see report/schema.json.
    """

    OK = "ok"
    NOT_TRIED = "not-tried"
    BUILD_FAILED = "build-failed"
    LOAD_FAILED = "load-failed"
    UNLOAD_FAILED = "unload-failed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    DIRTY_LOG = "dirty-log"
    LEAK = "leak"
    CONTRACT = "contract"
    WRONG = "wrong"
    SLOW = "slow"


@dataclass(frozen=True)
class Fault:
    """What was made to go wrong in a call of F(n) when something was found."""

    n: int
    what: str  # "fail": an allocation; "kill": a yield finds the caller killed
    place: int  # which of them, counted from 1
    count: int  # how many there are in such a call; 0 if not known
    then: str = ""  # what was wrong then


@dataclass(frozen=True)
class Failure:
    """One test that failed: what was expected, what came."""

    test: str  # which kind of test
    n: int | None  # what was asked for, where that is a number
    expected: str
    got: str
    title: str = ""
    kind: Code | None = None  # where that says more than that a test failed

    @property
    def first_difference(self) -> int | None:
        """Where expected and got part, counted from 0; None when they are no numbers."""
        if not self.expected.isdigit() or not self.got[:1].isdigit():
            return None
        for i, (a, b) in enumerate(zip(self.expected, self.got)):
            if a != b:
                return i
        shorter = min(len(self.expected), len(self.got))
        return shorter if len(self.expected) != len(self.got) else None

    def in_a_line(self, what: str = "") -> str:
        """Both sides for a reader, long numbers around the place where they part.

        what is asked for, where the failure has no title of its own.
        """
        what = self.title or what or self.test
        at = self.first_difference
        if at is None or max(len(self.expected), len(self.got)) <= WIDE:
            return f"{what}: expected {_cut(self.expected)}, got {_cut(self.got)}"
        expected, got = (_around(text, at) for text in (self.expected, self.got))
        place = f"digit {at + 1} of {len(self.expected)}"
        return f"{what}: {place}: expected {expected}, got {got}"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, as the report has it: its kind, one line, the lines behind it."""

    status: str  # as in report/schema.json: crashed, timeout, dirty-log, wrong, ...
    cause: str
    excerpt: str = ""
    failure: Failure | None = None  # the test that failed, if it is one
    kind: Code | None = None  # where that says more than the status
    fault: Fault | None = None  # what was made to go wrong
    repeat: str = ""  # the command by which a learner repeats it

    @property
    def code(self) -> Code:
        """The kind of the finding."""
        return self.kind or Code(self.status)

    def within(self, step: str) -> Finding:
        """Return the same finding with a cause that names the step it was made in."""
        return replace(self, cause=f"{step}: {self.cause}")


def failed(failure: Failure, what: str = "") -> Finding:
    """The finding that a failed test is; what was asked for, where it has no title."""
    return Finding("wrong", failure.in_a_line(what), failure=failure, kind=failure.kind)


def _cut(text: str) -> str:
    width = WIDE if text.isdigit() else 160
    return text if len(text) <= width else f"{text[: width // 2]}...{text[-width // 2 :]}"


def _around(text: str, position: int) -> str:
    """The part of a long text around one place."""
    begin, end = max(0, position - 8), position + 12
    before, after = "..." if begin else "", "..." if end < len(text) else ""
    return (
        f"{before}{text[begin:end]}{after}"
        if position < len(text)
        else f"{before}{text[begin:]} END"
    )
