# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The class for other programs: class.csv, and Gradescope's results.json for each student."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.base.printable import in_a_line
from grader.classroom.outcome import SubmissionOutcome, write_whole
from grader.classroom.submissions import Submission

# It reads as one, and nothing separates by it.
_WIDE_SEMICOLON = "\uff1b"
# What a formula begins with, in their wide forms too.
_FORMULA = frozenset("=+-@")


@dataclass(frozen=True)
class ClassRow:
    """A student, and what came of the submission."""

    submission: Submission
    outcome: SubmissionOutcome

    @property
    def student(self) -> str:
        """The name."""
        return self.submission.student


def _cell(text: str) -> str:
    """Return text that a spreadsheet takes for text in one cell: a name may be a formula.

    No cell holds what another reader than ours separates by, since quotes do not help there: where
    ";" separates, a line of this file begins with no quote that would be one.
    """
    text = in_a_line(text).replace(";", _WIDE_SEMICOLON)
    first = unicodedata.normalize("NFKC", text.lstrip(" '\"\u00a0\u3000"))[:1]
    return f"'{text}" if first in _FORMULA else text


def class_csv(rows: Sequence[ClassRow], names: Sequence[str]) -> str:
    """A line for each student; the points of who is not graded are empty."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["student", "points", *names, "status", "cause", "seconds", "fingerprint"])
    for row in rows:
        one = row.outcome
        earned = {line.name: line.earned for line in one.lines}
        points = [one.earned, *(earned.get(name, "") for name in names)]
        table.writerow(
            [
                _cell(row.student),
                *(points if one.graded else [""] * len(points)),
                *(_cell(one.status), _cell(one.cause), one.seconds, _cell(one.fingerprint)),
            ]
        )
    return out.getvalue()


def gradescope(outcome: SubmissionOutcome) -> dict[str, Any]:
    """Results as Gradescope reads them."""
    said = [outcome.cause or outcome.status, *outcome.left_out]
    return {
        "score": outcome.earned,
        "execution_time": outcome.seconds,
        "output": "\n".join(said),
        "tests": [
            {"name": line.name, "score": line.earned, "max_score": line.possible,
             "output": line.remark}
            for line in outcome.lines
        ],
    }  # fmt: skip


def write_gradescope(path: Path, outcome: SubmissionOutcome) -> None:
    """Write it; where nothing is graded there is none."""
    if outcome.graded:
        write_whole(path, json.dumps(gradescope(outcome), indent=1) + "\n")
    else:
        path.unlink(missing_ok=True)
