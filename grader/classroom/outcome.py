# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What came of one submission, and its file: results/ID.json, written whole or not at all.

status is "ok", what is wrong first of all (as in report.json), "refused" where there was nothing
to grade, which is the author's to mend, or "not graded", which is this computer's.
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
    """One submission, graded."""

    fingerprint: str
    status: str
    cause: str = ""
    lines: tuple[Line, ...] = ()
    left_out: tuple[str, ...] = ()
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def graded(self) -> bool:
        """Whether this is what the submission comes to; if not, it is to be graded again."""
        return self.status != NOT_GRADED


def write_whole(path: Path, text: str) -> None:
    """A file that is there in whole or as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        new.write_text(text, encoding="utf-8", errors="backslashreplace")
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write(path: Path, outcome: SubmissionOutcome) -> None:
    """Keep an outcome."""
    write_whole(path, json.dumps(dataclasses.asdict(outcome), indent=1) + "\n")


def read(path: Path) -> SubmissionOutcome | None:
    """One that is kept; None where there is none, or none that can be read."""
    try:
        row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        lines = tuple(Line(**line) for line in row.pop("lines"))
        return SubmissionOutcome(lines=lines, left_out=tuple(row.pop("left_out")), **row)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
