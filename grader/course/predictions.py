# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Record a learner's predictions of a stage's speedup; bench prints them with the results.

A prediction is the expected speedup over the stage before, at one n: for example 20 or 1/3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from grader.base.errors import LabError
from grader.course import skeleton
from grader.exercise.files import stages

PHASES = ("compute", "decimal")
# The learner wrote the predictions, so the file is stored with the learner's stages.
FILE = skeleton.WORK / "predictions.json"


def benchmark_sizes(number: int) -> list[int]:
    """Return the values of n at which bench compares a stage with the one before it."""
    manifests = stages.manifests()
    if number - 1 not in manifests:
        raise LabError(
            f"stage {number} has no stage before it to be compared with", "choose a later stage"
        )
    return sorted(set(manifests[number].measure) & set(manifests[number - 1].measure))


def factor(words: str, phase: str) -> float:
    """Parse a speedup: a number above 0, or a fraction like 1/3. Raise LabError otherwise."""
    try:
        value = float(Fraction(words.strip()))
    except (ValueError, ZeroDivisionError, OverflowError):
        value = 0.0
    if value <= 0:
        raise LabError(
            f"{phase}={words}: not a number above 0", "give the speedup, like 20, 1.5 or 1/3"
        )
    return value


def _kept() -> dict[str, Any]:
    try:
        found = json.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def keep(number: int, n: int, factors: Mapping[str, float]) -> str:
    """Store a prediction in place of an earlier one. Return a line that states it."""
    if n not in benchmark_sizes(number):
        known = ", ".join(f"{x:,}" for x in benchmark_sizes(number))
        raise LabError(
            f"n={n}: bench does not compare stages {number - 1} and {number} there",
            f"choose one of n = {known}",
        )
    FILE.parent.mkdir(exist_ok=True)
    rows = _kept() | {str(number): {"n": n, **factors}}
    FILE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    message = ", ".join(f"{phase} {_times(value)}" for phase, value in factors.items())
    return f"predicted: stage {number} against stage {number - 1} at n = {n:,}: {message}"


def _times(value: float) -> str:
    """Return a speedup as text, for example "20 times as fast" or "3 % slower"."""
    slow = value < 1
    times = 1 / value if slow else value
    percent = round(100 * (times - 1))
    if percent < 10:
        return f"{percent} % {'slower' if slow else 'faster'}" if percent else "just as fast"
    message = f"{times:,.0f}" if times >= 1000 else f"{times:.3g}"
    return f"{message} times as {'slow' if slow else 'fast'}"


def comparison_with_prediction(report: Mapping[str, Any]) -> str:
    """Return the predictions with the measured speedups of a report; "" without predictions."""
    lines = []
    for number, row in sorted(_kept().items(), key=lambda item: int(item[0])):
        for phase in PHASES:
            found = [
                f"{_times(s['ratio'])} by {s['metric']}"
                for s in report["speedups"]
                if (str(s["to"]), s["from"], s["n"]) == (number, s["to"] - 1, row["n"])
                and s["phase"] == phase
            ]
            if found and phase in row:
                message = f"predicted {_times(row[phase])}; measured {', '.join(found)}"
                lines.append(f"  stage {number}, n = {row['n']:,}, {phase}: {message}")
    return "\n".join(["Your predictions:", *lines, ""]) if lines else ""
