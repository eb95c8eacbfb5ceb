# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Validate a report against schema.json before it is used."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from grader.base.errors import LabError

Report = dict[str, Any]

VERSION = 3
SCHEMA_FILE = Path(__file__).with_name("schema.json")


class ReportError(LabError):
    """A report cannot be read, drawn or written; the text is one line."""


def validate(report: Report) -> None:
    """Raise ReportError, with the path of the field and the reason, unless the report is valid."""
    if not isinstance(report, dict) or "schema" not in report:
        raise ReportError("not a report: it has no schema number", "run grader/run.sh again")
    _check_version(report["schema"])
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    error = best_match(Draft202012Validator(schema).iter_errors(report))
    if error is not None:
        message = " ".join(error.message.split())
        if len(message) > 200:
            message = message[:90] + " ... " + message[-100:]
        raise ReportError(
            f"report is not valid at {error.json_path}: {message}", "run grader/run.sh again"
        )
    try:
        json.dumps(report, allow_nan=False)
    except ValueError:
        raise ReportError(
            "report is not valid: NaN or infinity is no JSON number", "run grader/run.sh again"
        ) from None
    _check_references(report)


def _check_version(version: object) -> None:
    """Raise ReportError, with advice, unless the report has the supported schema version."""
    if version == VERSION and not isinstance(version, bool):
        return
    advice = "run grader/run.sh again"
    if isinstance(version, int) and version > VERSION:
        advice = f"draw it with the newer kit, or {advice}"
    raise ReportError(f"report has schema {version!r:.40}, this kit reads {VERSION}", advice)


def _check_references(report: Report) -> None:
    """Check what a JSON Schema cannot express: names are unique, and references exist.

    Raise ReportError otherwise.
    """
    metrics = [(machine["name"], machine["metric"]) for machine in report["machines"]]
    if len(set(metrics)) != len(metrics):
        raise ReportError(
            "report is not valid: a pair of machine and metric occurs twice",
            "run grader/run.sh again",
        )
    dirs = [stage["dir"] for stage in report["stages"]]
    if len(set(dirs)) != len(dirs):
        raise ReportError(
            "report is not valid: a stage directory occurs twice", "run grader/run.sh again"
        )
    for stage in report["stages"]:
        _check_points(stage)
    measured = [sample for stage in report["stages"] for sample in stage["samples"]]
    for entry in measured + report["speedups"]:
        if (entry["machine"], entry["metric"]) not in metrics:
            raise ReportError(
                "report is not valid: a value has a machine and metric that no machine of the"
                f" report has: {entry['machine']}, {entry['metric']}",
                "run grader/run.sh again",
            )


def _check_points(stage: dict[str, Any]) -> None:
    """Raise ReportError unless the points of a stage are the sums of their lines."""
    points = stage["points"]
    if points is None:
        return
    for part in [*points["lines"], points]:
        if part["earned"] > part["possible"]:
            raise ReportError(
                f"report is not valid: {stage['dir']!r} earns {part['earned']:g} of"
                f" {part['possible']:g} points for {part.get('name', 'all')!r}",
                "run grader/run.sh again",
            )
    for key in ("earned", "possible"):
        total = sum(line[key] for line in points["lines"])
        # Each line may be rounded to a hundredth.
        if abs(total - points[key]) > 0.01 * (len(points["lines"]) + 1):
            raise ReportError(
                f"report is not valid: the lines of {stage['dir']!r} add up to {total:g} points"
                f" {key}, not to {points[key]:g}",
                "run grader/run.sh again",
            )
