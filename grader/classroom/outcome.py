# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The outcome of one submission, and its file results/ID.json, which is written atomically.

status is "ok", the kind of the first problem (as in report.json), "refused" if the author must send
another submission, or "not graded" if this computer failed.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.scoring.points import Line, Lines

NOT_GRADED = "not graded"
REFUSED = "refused"


@dataclass(frozen=True)
class SubmissionOutcome(Lines):
    """The outcome of one submission."""

    fingerprint: str
    status: str
    cause: str = ""
    lines: tuple[Line, ...] = ()
    excluded: tuple[str, ...] = ()
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def graded(self) -> bool:
        """Return whether the outcome is final; if not, the submission is graded again."""
        return self.status != NOT_GRADED


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: after an error, the old file is unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(text, encoding="utf-8", errors="backslashreplace")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write(path: Path, outcome: SubmissionOutcome) -> None:
    """Store an outcome."""
    write_whole(path, json.dumps(dataclasses.asdict(outcome), indent=1) + "\n")


def read(path: Path) -> SubmissionOutcome | None:
    """Return a stored outcome, or None if it is missing or unreadable."""
    try:
        row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        lines = tuple(Line(**line) for line in row.pop("lines"))
        return SubmissionOutcome(lines=lines, excluded=tuple(row.pop("excluded")), **row)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
