# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The report as tables for a terminal, at most 100 columns wide."""

import os
import sys
import textwrap
from collections.abc import Sequence

from grader.report import text
from grader.report.figures import PHASES, gap_text
from grader.report.schema import Report
from grader.report.text import Excerpt, Json

COLUMNS = 100
MOST_FAILURES = 3
MOST_N = 3
INDENT = " " * 4

GREEN, RED, YELLOW, BOLD, DIM = "32", "31", "33", "1", "2"


class Painter:
    """Wraps text in ANSI colours, or leaves it alone."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, code: str, plain: str) -> str:
        """The text in the colour of an ANSI code."""
        return f"\x1b[{code}m{plain}\x1b[0m" if self.colour and plain.strip() else plain


def summary(report: Report, colour: bool | None = None) -> str:
    """Tables of stages and speedups, failures and warnings, ending in a newline.

    colour None: colours when standard output is a terminal and NO_COLOR is not set. Takes a
    valid report; text of a stage is shown with its control characters written out.
    """
    if colour is None:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    paint = Painter(colour)
    blocks = [_stages(report, paint), *_failures(report, paint)]
    blocks += _speedups(report, paint)
    blocks += _remarks(report, paint)
    blocks.append(_verdict(report, paint))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(0, width - 3)] + "..."


def _table(rows: Sequence[Sequence[str]], align: str) -> list[list[str]]:
    """Rows padded to the width of their columns; align has one of < and > a column."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        [f"{cell:{side}{width}}" for cell, side, width in zip(row, align, widths, strict=True)]
        for row in rows
    ]


def _stages(report: Report, paint: Painter) -> str:
    rows: list[tuple[str, ...]] = [
        ("stage", "name", "status", "passed", "failed", "points", "max n")
    ]
    for stage in report["stages"]:
        label = text.stage_label(stage, report)
        number, _, name = label.partition(" ")
        if number != str(stage["number"]):
            number, name = str(stage["number"]), label
        correctness = stage["correctness"]
        points = stage.get("points")
        rows.append(
            (
                number,
                _cut(name, 32),
                stage["status"],
                text.count(correctness["passed"]),
                text.count(correctness["failed"]),
                f"{points['earned']:g}/{points['possible']:g}" if points else "",
                text.count(stage["max_n"]) if "max_n" in stage else "",
            )
        )
    if not any(row[5] for row in rows[1:]):
        rows = [(*row[:5], row[6]) for row in rows]
    table = _table(rows, "><<>>>>"[: len(rows[0])])
    room = COLUMNS - len("  ".join(table[0])) - 2
    lines = [paint(BOLD, "  ".join([*table[0], "cause"]))]
    for row, stage in zip(table[1:], report["stages"], strict=True):
        row[2] = paint(GREEN if stage["status"] == "ok" else RED, row[2])
        cause = _cut(text.printable(stage["cause"]), room)
        lines.append("  ".join([*row, cause]).rstrip())
    return "\n".join(lines)


def _failures(report: Report, paint: Painter) -> list[str]:
    blocks = []
    for stage in report["stages"]:
        failures = stage["correctness"]["failures"]
        if stage["status"] == "ok" and not failures:
            continue
        label = text.stage_label(stage, report)
        lines = _wrap(f"{label}: {stage['status']}: {text.printable(stage['cause'])}", "", INDENT)
        lines[0] = paint(RED, lines[0])
        for failure in failures[:MOST_FAILURES]:
            lines += _failure(failure, paint)
        more = max(stage["correctness"]["failed"], len(failures)) - MOST_FAILURES
        if more > 0 and failures:
            lines.append(f"{INDENT}and {text.count(more)} more")
        blocks.append("\n".join(lines))
    return blocks


def _wrap(line: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(line, COLUMNS, initial_indent=first, subsequent_indent=rest) or [first]


def _failure(failure: Json, paint: Painter) -> list[str]:
    at = "" if failure.get("n") is None else f", n = {text.count(failure['n'])}"
    lines = _wrap(text.printable(failure["test"]) + at, INDENT, INDENT * 2)
    expected, got = text.difference(failure, 48)
    for name, part in (("expected", expected), ("got", got)):
        line, column = _excerpt(part)
        # Escapes can make 48 characters longer than a line.
        lines.append(_cut(f"{INDENT * 2}{name:9}{line}", COLUMNS))
    if got is not None and column is not None and len(INDENT * 2) + 9 + column < COLUMNS:
        lines.append(paint(YELLOW, " " * (len(INDENT * 2) + 9 + column) + "^"))
    return lines


def _excerpt(part: Excerpt | None) -> tuple[str, int | None]:
    """One line of a difference, and the column of its mark when there is one."""
    if part is None:
        return "(nothing)", None
    if part.length == 0:
        return "(empty)", None
    before = ("..." if part.cut_before else "") + part.before
    line = before + part.mark + part.after + ("..." if part.cut_after else "")
    if part.cut_before or part.cut_after:
        line += f"  ({text.count(part.length)} characters)"
    return line, len(before)


def _speedups(report: Report, paint: Painter) -> list[str]:
    blocks = []
    for machine in report["machines"]:
        key = (machine["name"], machine["ruler"])
        own = [s for s in report["speedups"] if (s["machine"], s["ruler"]) == key]
        if own:
            name = text.printable(machine["name"])
            unit = "time, 95 % interval" if machine["ruler"] == "ns" else "instructions, exact"
            title = _cut(f"Speedup over the stage before, {name}: {unit}", COLUMNS)
            blocks.append("\n".join([paint(BOLD, title), *_speedup_rows(own, paint)]))
    gaps = [line for gap in report.get("gaps", []) for line in _wrap(gap_text(gap), "", INDENT)]
    return [*blocks, "\n".join(gaps)]


def _few(values: list[int]) -> list[int]:
    """The least, the middle and the greatest of sorted values."""
    if len(values) <= MOST_N:
        return values
    return [values[0], values[len(values) // 2], values[-1]]


def _speedup_rows(entries: list[Json], paint: Painter) -> list[str]:
    """One line for each pair and n, compute and decimal beside each other."""
    found = {(e["from"], e["to"], e["n"], e["phase"]): e for e in entries}
    pairs = sorted({(e["from"], e["to"]) for e in entries})
    rows: list[tuple[str, ...]] = [
        ("stages", "n", *(c for phase in PHASES for c in (phase, "interval", "verdict")))
    ]
    left_out = 0
    for pair in pairs:
        all_n = sorted({e["n"] for e in entries if (e["from"], e["to"]) == pair})
        few = _few(all_n)
        left_out += len(all_n) - len(few)
        for n in few:
            cells = [f"{pair[0]} → {pair[1]}" if n == few[0] else "", text.count(n)]
            for phase in PHASES:
                entry = found.get((*pair, n, phase))
                cells += _speedup_cells(entry) if entry else ["", "", ""]
            rows.append(tuple(cells))
    lines = []
    for index, row in enumerate(_table(rows, "<>><<><<")):
        painted = [_verdict_colour(cell, paint) for cell in row] if index else row
        lines.append("  ".join(painted).rstrip())
    if left_out:
        where = "here the least, a middle and the greatest n of each pair"
        lines.append(paint(DIM, f"({left_out} more in index.html: {where})"))
    return lines


def _speedup_cells(entry: Json) -> list[str]:
    ends = entry["ci95"]
    interval = f"[{text.ratio(ends[0])}, {text.ratio(ends[1])}]" if ends else ""
    return [text.ratio(entry["ratio"]), interval, entry["verdict"]]


def _verdict_colour(cell: str, paint: Painter) -> str:
    code = {"faster": GREEN, "slower": RED, "~": DIM}.get(cell.strip())
    return paint(code, cell) if code else cell


def _remarks(report: Report, paint: Painter) -> list[str]:
    lines = []
    for entry in report.get("disagreements", []):
        lines += _wrap(
            f"rulers disagree: {text.versus(entry)}, {entry['phase']}, "
            f"n = {text.count(entry['n'])}: {entry['ns_verdict']} by time, "
            f"{entry['instructions_verdict']} by instructions: {text.printable(entry['why'])}",
            "",
            INDENT,
        )
    for machine in report["machines"]:
        for warning in machine["warnings"]:
            line = f"warning: {text.printable(machine['name'])}: {text.printable(warning)}"
            lines += [paint(YELLOW, part) for part in _wrap(line, "", INDENT)]
    return ["\n".join(lines)]


def _verdict(report: Report, paint: Painter) -> str:
    line, right = text.verdict(report)
    return paint(GREEN if right else RED, line)
