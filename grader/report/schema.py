# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Check a report against schema.json before anything is made of it."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from grader.base.errors import LabError

Report = dict[str, Any]

VERSION = 1
SCHEMA_FILE = Path(__file__).with_name("schema.json")


class ReportError(LabError):
    """A report that cannot be read, drawn or written; its text is one line."""


def validate(report: Report) -> None:
    """Raise ReportError, with the place and the reason in one line, unless report is valid."""
    if not isinstance(report, dict) or "schema" not in report:
        raise ReportError("not a report: it has no schema number; run the grader again")
    version = report["schema"]
    if isinstance(version, bool) or version != VERSION:
        raise ReportError(
            f"report has schema {version!r:.40}, this kit reads {VERSION}: run the grader again"
        )
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    error = best_match(Draft202012Validator(schema).iter_errors(report))
    if error is not None:
        message = " ".join(error.message.split())
        if len(message) > 200:
            message = message[:90] + " ... " + message[-100:]
        raise ReportError(f"report is not valid at {error.json_path}: {message}")
    try:
        json.dumps(report, allow_nan=False)
    except ValueError:
        raise ReportError("report is not valid: NaN or infinity is no JSON number") from None
    _check_references(report)


def _check_references(report: Report) -> None:
    """Raise ReportError for what a JSON Schema cannot say: unique names and names that exist."""
    rulers = [(machine["name"], machine["ruler"]) for machine in report["machines"]]
    if len(set(rulers)) != len(rulers):
        raise ReportError("report is not valid: a pair of machine and ruler occurs twice")
    dirs = [stage["dir"] for stage in report["stages"]]
    if len(set(dirs)) != len(dirs):
        raise ReportError("report is not valid: a stage directory occurs twice")
    measured = [sample for stage in report["stages"] for sample in stage["samples"]]
    for entry in measured + report["speedups"]:
        if (entry["machine"], entry["ruler"]) not in rulers:
            raise ReportError(
                "report is not valid: a figure names a machine and ruler that machines does "
                f"not list: {entry['machine']}, {entry['ruler']}"
            )
