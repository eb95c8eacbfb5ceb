# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build the parts of the report: machines, stages, tests, points, see report/schema.json."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.base import paths
from grader.base.finding import Failure, Finding
from grader.exercise.files import stages, tasks
from grader.lab.machines import Machine
from grader.scoring.pipeline import JudgedStage
from grader.scoring.speedups import MachineSamples, sample_rows


@dataclass(frozen=True)
class ExtraMeasurements:
    """The measurements other than time and instruction samples, by stage key."""

    round_trips: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    stressed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def commit() -> str:
    """Return the commit of the checkout, with "-dirty" if files have changed; "" without git."""
    git = ["git", "-C", str(paths.ROOT)]
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return ""
    state = subprocess.run(
        [*git, "--no-optional-locks", "status", "--porcelain"], capture_output=True, text=True
    )
    return head.stdout.strip() + ("-dirty" if state.stdout.strip() else "")


def cpu_model() -> str:
    """Return the model name of this computer's processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def machine_row(machine: Machine, warnings: Sequence[str]) -> dict[str, Any]:
    """Return the report's row of a machine and its metric."""
    kernel = machine.kernel()
    facts = machine.facts()
    return {
        "name": machine.name,
        "kernel": kernel.release,
        "compiler": kernel.compiler,
        "cpu": facts.get("cpu") or cpu_model(),
        "metric": machine.metric or "ns",
        "warnings": list(warnings),
        "facts": facts,
    }


def stage_row(
    judged: JudgedStage, machines: Sequence[MachineSamples], extra: ExtraMeasurements, seed: int
) -> dict[str, Any]:
    """Return the report's row of a stage: its status, tests, points and samples."""
    stage = judged.stage
    row: dict[str, Any] = {
        "number": stage.number,
        "name": stage.key.split("-", 1)[1],
        "title": stage.manifest.title,
        "teaches": stage.manifest.teaches,
        "dir": paths.shown(stage.directory),
        "max_n": stage.manifest.max_n,
        "status": judged.status.name,
        "cause": judged.status.cause,
        "findings": [_finding_row(one.by, one.finding) for one in judged.found],
        "correctness": _correctness(judged),
        "points": _points(judged),
        "samples": [row for one in machines for row in sample_rows(stage, one, seed)],
    }
    speed = tasks.course(stage.number).speed if stage.number in stages.known() else None
    if speed:
        row["speed_n"] = speed.n
    if judged.note:
        row["points_note"] = judged.note
    if judged.status.log:
        row["log"] = judged.status.log
    if extra.round_trips.get(stage.key):
        row["round_trips"] = extra.round_trips[stage.key]
    if extra.stressed.get(stage.key):
        row["debug"] = dict(extra.stressed[stage.key])
    return row


def _finding_row(by: str, finding: Finding) -> dict[str, Any]:
    row = {
        "by": by,
        "status": finding.status,
        "code": finding.code.value,
        "cause": finding.cause,
    }
    return row | ({"log": finding.excerpt} if finding.excerpt else {})


def _correctness(judged: JudgedStage) -> dict[str, Any]:
    """Return the tests passed and failed. Failures during measurement count, too."""
    verified = judged.verified
    others = [one.finding.failure for one in judged.found if one.by != "verify"]
    more = [failure for failure in others if failure is not None]
    return {
        "passed": verified.passed,
        "failed": verified.failed + len(more),
        "failures": [_failure_row(failure) for failure in [*verified.failures, *more]],
    }


def _failure_row(failure: Failure) -> dict[str, Any]:
    return {
        "test": f"{failure.test}: {failure.title}" if failure.title else failure.test,
        "n": failure.n,
        "expected": failure.expected,
        "got": failure.got,
        "first_difference": failure.first_difference,
    }


def _points(judged: JudgedStage) -> dict[str, Any] | None:
    if not judged.lines:
        return None
    return {
        "earned": judged.earned,
        "possible": judged.possible,
        "lines": [
            {
                "name": line.name,
                "kind": line.kind,
                "code": line.code.value,
                "earned": line.earned,
                "possible": line.possible,
                "remark": line.remark,
            }
            for line in judged.lines
        ],
    }
