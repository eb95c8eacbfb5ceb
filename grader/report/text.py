# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Figures and untrusted text in the form a reader sees."""

import math
from typing import Any, NamedTuple

Json = dict[str, Any]

# What a metric measures, in a word.
UNITS = {"ns": "time", "instructions": "instructions"}
TIME_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
COUNT_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
BYTE_UNITS = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))


def printable(text: str) -> str:
    """Text with every control, bidi and unassigned character written out as an escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def number(value: float) -> str:
    """Three significant digits, no exponent; all digits before the point are kept."""
    value = float(f"{value:.3g}") if abs(value) < 1000 else value
    if value == 0:
        return "0"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def duration(ns: float) -> str:
    """A time in nanoseconds with the unit that suits it."""
    rounded = float(f"{ns:.3g}")
    scale, unit = next((u for u in TIME_UNITS if abs(rounded) >= u[0]), TIME_UNITS[-1])
    return f"{number(rounded / scale)} {unit}"


def short_duration(ns: float) -> str:
    """A time in nanoseconds with a unit, exact for round figures."""
    scale, unit = next((u for u in TIME_UNITS if ns >= u[0]), TIME_UNITS[-1])
    return f"{ns / scale:.6g} {unit}"


def seconds(value: float) -> str:
    """A time in seconds as a person says it."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s"


def count(value: float) -> str:
    """A count, all digits."""
    return f"{value:,.0f}" if value == round(value) or value >= 1000 else f"{value:,.2f}"


def short_count(value: float) -> str:
    """A count with k, M or G, exact for round figures."""
    scale, unit = next((u for u in COUNT_UNITS if value >= u[0]), (1.0, ""))
    return f"{value / scale:.6g}{unit}"


def short_size(value: float) -> str:
    """A number of bytes with a decimal unit, exact for round figures."""
    scale, unit = next((u for u in COUNT_UNITS if value >= u[0]), (1.0, ""))
    return f"{value / scale:.6g} {unit}B"


def size(value: float) -> str:
    """A number of bytes with the binary unit that suits it."""
    scale, unit = next((u for u in BYTE_UNITS if value >= u[0]), (1.0, "B"))
    return f"{number(value / scale)} {unit}"


def amount(value: float, metric: str) -> str:
    """A figure of a metric: a time or a count of instructions."""
    return duration(value) if metric == "ns" else count(value)


def ratio(value: float) -> str:
    """A ratio; close to 1 with the digits that tell one percent from none."""
    return f"{value:.3f}" if 0.9 < value < 1.1 else number(value)


def points(earned: float, possible: float, between: str = "/") -> str:
    """Points earned of those possible, at most two decimals."""
    return f"{round(earned, 2):g}{between}{round(possible, 2):g}"


def _is_alone(stage: Json, report: Json) -> bool:
    """Whether no other stage of the report has its number."""
    return [other["number"] for other in report["stages"]].count(stage["number"]) == 1


def stage_label(stage: Json, report: Json) -> str:
    """Number and name of a stage; its directory where the number is not unique."""
    if _is_alone(stage, report):
        return printable(f"{stage['number']} {stage['name']}")
    return printable(stage["dir"].rstrip("/").rsplit("/", 1)[-1])


def stage_number(stage: Json, report: Json) -> str:
    """What a line calls a stage: stage 3, or its directory where the number is not unique."""
    if _is_alone(stage, report):
        return f"stage {stage['number']}"
    return stage_label(stage, report)


def lost_lines(stage: Json) -> list[Json]:
    """The lines of a stage's points for which fewer were earned than possible."""
    lines = (stage["points"] or {}).get("lines", [])
    return [line for line in lines if round(line["possible"] - line["earned"], 2) > 0]


def further_findings(stage: Json) -> list[Json]:
    """What was found wrong with a stage beside the one finding that is its cause."""
    found = list(stage["findings"])
    for finding in found:
        # The cause may say who found it.
        causes = (finding["cause"], f"{finding['by']}: {finding['cause']}")
        if stage["status"] == finding["status"] and stage["cause"] in causes:
            found.remove(finding)
            break
    return found


class Excerpt(NamedTuple):
    """The part of a long text around one character, already printable."""

    before: str
    mark: str
    after: str
    cut_before: bool
    cut_after: bool
    length: int


def first_difference(expected: str, got: str) -> int | None:
    """Index of the first character that differs, which may be the end of the shorter text."""
    for at, (left, right) in enumerate(zip(expected, got, strict=False)):
        if left != right:
            return at
    return None if len(expected) == len(got) else min(len(expected), len(got))


def excerpt(text: str, difference_at: int | None, start: int, width: int) -> Excerpt:
    """At most width characters of text from index start; the one at index at is the mark."""
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
    """Expected and got of a failure, both cut at the same place around the first difference.

    A first_difference of null says that the two are not to be compared letter by letter.
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
    """The pair of stages of a comparison."""
    return f"{entry['from']} → {entry['to']}"


def verdict(report: Json) -> tuple[str, bool]:
    """What the run found in one line, and whether every stage is right."""
    total = len(report["stages"])
    failed = sum(stage["status"] != "ok" for stage in report["stages"])
    if total == 0:
        return "No stage was graded.", False
    stages = "1 stage" if total == 1 else f"{total} stages"
    if failed:
        return f"{failed} of {stages} failed.", False
    return ("The stage is right." if total == 1 else f"All {stages} are right."), True
