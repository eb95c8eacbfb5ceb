# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Define findings: immutable values that describe a problem by a code and by a text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

# If the expected and the actual value are longer than this, only the text around their first
# difference is shown.
WIDE = 48


class Code(str, Enum):
    """The kind of a finding or of a line of points.

    Programs compare this value and never a text, so that any text can be changed or translated. The
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
    """The fault that was injected into a computation of F(n)."""

    n: int
    what: str  # "fail": an allocation fails; "kill": the caller is killed at a yield.
    place: int  # Number of the allocation or yield in the call, from 1.
    count: int  # Number of allocations or yields in a call without a fault; 0 if unknown.
    then: str = ""  # The consequence of the fault.


@dataclass(frozen=True)
class Failure:
    """A failed test, with its expected and its actual result."""

    test: str  # Kind of the test.
    n: int | None  # The tested n, if the test has one.
    expected: str
    got: str
    title: str = ""
    kind: Code | None = None  # A more precise Code than WRONG, if known.

    @property
    def first_difference(self) -> int | None:
        """Return the index of the first different digit, or None if equal or not numbers."""
        if not self.expected.isdigit() or not self.got[:1].isdigit():
            return None
        for i, (a, b) in enumerate(zip(self.expected, self.got)):
            if a != b:
                return i
        shorter = min(len(self.expected), len(self.got))
        return shorter if len(self.expected) != len(self.got) else None

    def in_a_line(self, what: str = "") -> str:
        """Return expected and got in one line; shorten long numbers to their first difference.

        what: the title to use if the failure has none.
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
    """A problem as the report shows it: its kind, its cause in one line and a log excerpt."""

    status: str  # a status of report/schema.json: crashed, timeout, dirty-log, wrong, ...
    cause: str
    excerpt: str = ""
    failure: Failure | None = None  # The failed test, if a test failed.
    kind: Code | None = None  # A more precise kind than the status, if known.
    fault: Fault | None = None  # The injected fault, if any.
    repeat: str = ""  # A command with which a learner can reproduce the finding.

    @property
    def code(self) -> Code:
        """The kind of the finding."""
        return self.kind or Code(self.status)

    def within(self, step: str) -> Finding:
        """Return a copy of the finding, with the name of a step at the beginning of its cause."""
        return replace(self, cause=f"{step}: {self.cause}")


def failed(failure: Failure, what: str = "") -> Finding:
    """Return the finding for a failed test. what: the title to use if the failure has none."""
    return Finding("wrong", failure.in_a_line(what), failure=failure, kind=failure.kind)


def _cut(text: str) -> str:
    width = WIDE if text.isdigit() else 160
    return text if len(text) <= width else f"{text[: width // 2]}...{text[-width // 2 :]}"


def _around(text: str, position: int) -> str:
    """Return the part of a long text around a position, with dots where it is cut."""
    begin, end = max(0, position - 8), position + 12
    before, after = "..." if begin else "", "..." if end < len(text) else ""
    return (
        f"{before}{text[begin:end]}{after}"
        if position < len(text)
        else f"{before}{text[begin:]} END"
    )
