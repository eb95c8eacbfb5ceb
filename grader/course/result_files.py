# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write points in formats for other programs: Gradescope, GitHub Classroom, KTAP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grader.base.errors import LabError
from grader.course.check import CheckResult


def gradescope(result: CheckResult) -> dict[str, Any]:
    """Return the points in the format of Gradescope's results.json."""
    return {
        "score": result.earned,
        "tests": [
            {"name": line.name, "score": line.earned, "max_score": line.possible,
             "output": line.remark}
            for line in result.lines
        ],
    }  # fmt: skip


def classroom(result: CheckResult) -> dict[str, Any]:
    """Return the points in the format of GitHub Classroom's reporter.

    A test runner must pass them to the reporter base64-encoded.
    """
    return {
        "version": 1,
        "status": "pass" if all(line.full for line in result.lines) else "fail",
        "max_score": result.possible,
        "tests": [
            {"name": line.name, "status": "pass" if line.full else "fail", "score": line.earned,
             "max_score": line.possible, "message": line.remark}
            for line in result.lines
        ],
    }  # fmt: skip


def ktap(result: CheckResult) -> str:
    """Return the points as KTAP, the kernel's test output format."""
    lines = ["KTAP version 1", f"1..{len(result.lines)}"]
    for i, line in enumerate(result.lines, 1):
        if not line.full:
            lines.append(f"# {line.remark}")
        word = "ok" if line.full else "not ok"
        lines.append(f"{word} {i} {line.name} # {line.earned} of {line.possible} points")
    return "\n".join(lines)


def write(path: Path, results: dict[str, Any]) -> None:
    """Write results as JSON to a path; raise LabError if that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n")
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}", "give another file") from error
