# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write a class's results for other programs: class.csv, and results.json of Gradescope."""

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

# This character looks like a semicolon, but no program uses it as a separator.
_WIDE_SEMICOLON = "\uff1b"
# The first characters of a formula; NFKC maps their wide forms to these.
_FORMULA = frozenset("=+-@")


@dataclass(frozen=True)
class ClassRow:
    """A student's submission and its outcome."""

    submission: Submission
    outcome: SubmissionOutcome

    @property
    def student(self) -> str:
        """Return the student's name."""
        return self.submission.student


def _cell(text: str) -> str:
    """Return a text that a spreadsheet shows unchanged in one cell, and not as a formula.

    Replace ";", because a program that separates cells by ";" would split the text there. Quotes
    do not prevent this, because for such a program the quote is not at the beginning of a cell.
    """
    text = in_a_line(text).replace(";", _WIDE_SEMICOLON)
    first = unicodedata.normalize("NFKC", text.lstrip(" '\"\u00a0\u3000"))[:1]
    return f"'{text}" if first in _FORMULA else text


def class_csv(rows: Sequence[ClassRow], names: Sequence[str]) -> str:
    """Return a CSV row for each student; the points are empty if the submission is not graded."""
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
    """Return the results in the format of Gradescope's results.json."""
    message = [outcome.cause or outcome.status, *outcome.excluded]
    return {
        "score": outcome.earned,
        "execution_time": outcome.seconds,
        "output": "\n".join(message),
        "tests": [
            {"name": line.name, "score": line.earned, "max_score": line.possible,
             "output": line.remark}
            for line in outcome.lines
        ],
    }  # fmt: skip


def write_gradescope(path: Path, outcome: SubmissionOutcome) -> None:
    """Write the results for Gradescope; remove an old file if the submission is not graded."""
    if outcome.graded:
        write_whole(path, json.dumps(gradescope(outcome), indent=1) + "\n")
    else:
        path.unlink(missing_ok=True)
