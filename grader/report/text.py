# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Format numbers and untrusted text for readers."""

import math
from typing import Any, NamedTuple

Json = dict[str, Any]

# The quantity that a metric measures.
UNITS = {"ns": "time", "instructions": "instructions"}
TIME_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
COUNT_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
BYTE_UNITS = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


def printable(text: str) -> str:
    """Return text with control, bidirectional and unassigned characters escaped."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def number(value: float) -> str:
    """Format a number with three significant digits, or with all digits of its integer part."""
    value = float(f"{value:.3g}") if abs(value) < 1000 else value
    if value == 0:
        return "0"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def duration(ns: float) -> str:
    """Format a time, given in nanoseconds, with a suitable unit."""
    rounded = float(f"{ns:.3g}")
    scale, unit = next((u for u in TIME_UNITS if abs(rounded) >= u[0]), TIME_UNITS[-1])
    return f"{number(rounded / scale)} {unit}"


def short_duration(ns: float) -> str:
    """Format a time, given in nanoseconds, with a unit; exact for round values."""
    scale, unit = next((u for u in TIME_UNITS if ns >= u[0]), TIME_UNITS[-1])
    return f"{ns / scale:.6g} {unit}"


def seconds(value: float) -> str:
    """Format a time in seconds as seconds, or as minutes and seconds."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s"


def count(value: float) -> str:
    """Format a count with all digits."""
    return f"{value:,.0f}" if value == round(value) or value >= 1000 else f"{value:,.2f}"


def short_count(value: float) -> str:
    """Format a count with k, M or G, exact for round values."""
    scale, unit = next((u for u in COUNT_UNITS if value >= u[0]), (1.0, ""))
    return f"{value / scale:.6g}{unit}"


def short_size(value: float) -> str:
    """Format a number of bytes with a decimal unit, exact for round values."""
    scale, unit = next((u for u in COUNT_UNITS if value >= u[0]), (1.0, ""))
    return f"{value / scale:.6g} {unit}B"


def size(value: float) -> str:
    """Format a number of bytes with a suitable binary unit."""
    scale, unit = next((u for u in BYTE_UNITS if value >= u[0]), (1.0, "B"))
    return f"{number(value / scale)} {unit}"


def amount(value: float, metric: str) -> str:
    """Format a value of a metric: a time or a count of instructions."""
    return duration(value) if metric == "ns" else count(value)


def ratio(value: float) -> str:
    """Format a ratio; close to 1, use three decimals so that a change of 1 % is visible."""
    return f"{value:.3f}" if 0.9 < value < 1.1 else number(value)


def points(earned: float, possible: float, between: str = "/") -> str:
    """Format points earned and possible, with at most two decimals."""
    return f"{round(earned, 2):g}{between}{round(possible, 2):g}"


def _is_alone(stage: Json, report: Json) -> bool:
    """Return whether the stage's number is unique in the report."""
    return [other["number"] for other in report["stages"]].count(stage["number"]) == 1


def stage_label(stage: Json, report: Json) -> str:
    """Return a stage's number and name; its directory if the number is not unique."""
    if _is_alone(stage, report):
        return printable(f"{stage['number']} {stage['name']}")
    return printable(stage["dir"].rstrip("/").rsplit("/", 1)[-1])


def stage_number(stage: Json, report: Json) -> str:
    """Return "stage 3" for a stage, or its directory if the number is not unique."""
    if _is_alone(stage, report):
        return f"stage {stage['number']}"
    return stage_label(stage, report)


def lost_lines(stage: Json) -> list[Json]:
    """Return the lines of a stage's points that have fewer points than possible."""
    lines = (stage["points"] or {}).get("lines", [])
    return [line for line in lines if round(line["possible"] - line["earned"], 2) > 0]


def further_findings(stage: Json) -> list[Json]:
    """Return the stage's findings, except the finding that its status and cause come from."""
    found = list(stage["findings"])
    for finding in found:
        # The cause may begin with the name of the checker that found it.
        causes = (finding["cause"], f"{finding['by']}: {finding['cause']}")
        if stage["status"] == finding["status"] and stage["cause"] in causes:
            found.remove(finding)
            break
    return found


class Excerpt(NamedTuple):
    """A printable part of a long text around one character, the mark."""

    before: str
    mark: str
    after: str
    cut_before: bool
    cut_after: bool
    length: int


def first_difference(expected: str, got: str) -> int | None:
    """Return the index of the first different character, or None if the texts are equal.

    The index may be the end of the shorter text.
    """
    for at, (left, right) in enumerate(zip(expected, got, strict=False)):
        if left != right:
            return at
    return None if len(expected) == len(got) else min(len(expected), len(got))


def excerpt(text: str, difference_at: int | None, start: int, width: int) -> Excerpt:
    """Return at most width characters from index start; mark the character at difference_at."""
    end = min(len(text), start + width)
    start = min(start, end)
    split = end if difference_at is None else min(max(difference_at, start), end)
    after = split if difference_at is None else min(split + 1, end)
    return Excerpt(
        printable(text[start:split]),
        printable(text[split:after]),
        printable(text[after:end]),
        start > 0,
        end < len(text),
        len(text),
    )


def difference(failure: Json, width: int) -> tuple[Excerpt | None, Excerpt | None]:
    """Return excerpts of expected and got, both cut at the same index around the difference.

    If first_difference is null, the two texts are not compared character by character.
    """
    texts: list[str | None] = [failure["expected"], failure["got"]]
    at: int | None = failure.get("first_difference")
    if "first_difference" not in failure and texts[0] is not None and texts[1] is not None:
        at = first_difference(texts[0], texts[1])
    longest = max(len(text or "") for text in texts)
    start = max(0, min((at or 0) - width // 2, longest - width))
    expected, got = (None if t is None else excerpt(t, at, start, width) for t in texts)
    return expected, got


def versus(entry: Json) -> str:
    """Return the pair of stages of a comparison as text."""
    return f"{entry['from']} → {entry['to']}"


def verdict(report: Json) -> tuple[str, bool]:
    """Return the run's result in one line, and whether every stage is correct."""
    total = len(report["stages"])
    failed = sum(stage["status"] != "ok" for stage in report["stages"])
    if total == 0:
        return "No stage was graded.", False
    stages = "1 stage" if total == 1 else f"{total} stages"
    if failed:
        return f"{failed} of {stages} failed.", False
    return ("The stage is right." if total == 1 else f"All {stages} are right."), True
