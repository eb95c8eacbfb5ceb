# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Format the report as tables for a terminal, at most 100 columns wide."""

import os
import sys
import textwrap
from collections.abc import Sequence

from grader.report import text
from grader.report.schema import Report
from grader.report.stage_figures import gap_text, phases
from grader.report.text import Excerpt, Json

COLUMNS = 100
MOST_FAILURES = 3
MOST_FINDINGS = 3
MOST_N = 3
MOST_ROWS = 24  # row limit of a speedup table, so that both metrics' tables fit on a screen
LEAST_CAUSE = 24
INDENT = " " * 4

GREEN, RED, YELLOW, BOLD, DIM = "32", "31", "33", "1", "2"


class Painter:
    """A function object that adds ANSI colours to text, or returns it unchanged."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, code: str, plain: str) -> str:
        """Return the text in the colour of an ANSI code."""
        return f"\x1b[{code}m{plain}\x1b[0m" if self.colour and plain.strip() else plain


def summary(report: Report, colour: bool | None = None) -> str:
    """Return tables of stages and speedups, failures and warnings, ending in a newline.

    colour None: use colours when standard output is a terminal and NO_COLOR is not set. The report
    must be valid; control characters in text from stages are escaped.
    """
    if colour is None:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    paint = Painter(colour)
    blocks = [_stages(report, paint), _points(report, paint), *_failures(report, paint)]
    blocks += _speedups(report, paint)
    if not report["speedups"]:
        blocks += _figures(report, paint)
    blocks += _remarks(report, paint)
    blocks.append(_verdict(report, paint))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(0, width - 3)] + "..."


def _table(rows: Sequence[Sequence[str]], align: str) -> list[list[str]]:
    """Return rows padded to their columns' widths; align has "<" or ">" for each column."""
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
        points = stage["points"]
        rows.append(
            (
                number,
                _cut(name, 32),
                stage["status"],
                text.count(correctness["passed"]),
                text.count(correctness["failed"]),
                text.points(points["earned"], points["possible"]) if points else "",
                text.count(stage["max_n"]) if "max_n" in stage else "",
            )
        )
    if not any(row[5] for row in rows[1:]):
        rows = [(*row[:5], row[6]) for row in rows]
    table = _table(rows, "><<>>>>"[: len(rows[0])])
    room = COLUMNS - len("  ".join(table[0])) - 2
    # The full cause is printed below; an excerpt of a few letters would be useless.
    has_causes = room >= LEAST_CAUSE and any(stage["cause"] for stage in report["stages"])
    lines = [paint(BOLD, "  ".join([*table[0], *(["cause"] if has_causes else [])]).rstrip())]
    for row, stage in zip(table[1:], report["stages"], strict=True):
        row[2] = paint(GREEN if stage["status"] == "ok" else RED, row[2])
        cause = _cut(text.printable(stage["cause"]), room) if has_causes else ""
        lines.append("  ".join([*row, cause]).rstrip())
    return "\n".join(lines)


def _points(report: Report, paint: Painter) -> str:
    """Return a line for each loss of points, and the reasons for missing points."""
    lines = []
    notes: dict[tuple[str, str], list[str]] = {}
    for stage in report["stages"]:
        who = text.stage_number(stage, report)
        for lost in text.lost_lines(stage):
            amount = text.points(lost["possible"] - lost["earned"], lost["possible"], " of ")
            line = f"{who} loses {amount} for {text.printable(lost['name'])}"
            if lost["remark"]:
                line += f": {text.printable(lost['remark'])}"
            first, *rest = _wrap(line, "", INDENT)
            lines += [paint(YELLOW, first), *rest]
        if "points_note" in stage:
            whose = "points of" if stage["points"] else "no points for"
            notes.setdefault((whose, text.printable(stage["points_note"])), []).append(who)
    for (whose, note), stages in notes.items():
        lines += _wrap(f"{whose} {_together(stages)}: {note}", "", INDENT)
    return "\n".join(lines)


def _together(stages: list[str]) -> str:
    """Return stage labels joined: "stages 1, 2" for "stage 1" and "stage 2"."""
    numbers = [name.removeprefix("stage ") for name in stages]
    if len(stages) > 1 and all(name.startswith("stage ") for name in stages):
        return f"stages {', '.join(numbers)}"
    return ", ".join(stages)


def _failures(report: Report, paint: Painter) -> list[str]:
    blocks = []
    for stage in report["stages"]:
        failures = stage["correctness"]["failures"]
        further = text.further_findings(stage)
        if stage["status"] == "ok" and not failures and not further:
            continue
        label = text.stage_label(stage, report)
        lines = _wrap(f"{label}: {stage['status']}: {text.printable(stage['cause'])}", "", INDENT)
        lines[0] = paint(RED, lines[0])
        for finding in further[:MOST_FINDINGS]:
            who, cause = text.printable(finding["by"]), text.printable(finding["cause"])
            lines += _wrap(f"also by {who}: {finding['status']}: {cause}", INDENT, INDENT * 2)
        if len(further) > MOST_FINDINGS:
            rest = len(further) - MOST_FINDINGS
            lines.append(f"{INDENT}and {text.count(rest)} more findings, in index.html")
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
        # Shorten the excerpt further, because escape sequences can make 48 characters wider than a
        # line.
        lines.append(_cut(f"{INDENT * 2}{name:9}{line}", COLUMNS))
    if got is not None and column is not None and len(INDENT * 2) + 9 + column < COLUMNS:
        lines.append(paint(YELLOW, " " * (len(INDENT * 2) + 9 + column) + "^"))
    return lines


def _excerpt(part: Excerpt | None) -> tuple[str, int | None]:
    """Return a line that shows a difference, and the column of its mark, or None."""
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
        key = (machine["name"], machine["metric"])
        own = [s for s in report["speedups"] if (s["machine"], s["metric"]) == key]
        if own:
            name = text.printable(machine["name"])
            unit = "time, 95 % interval" if machine["metric"] == "ns" else "instructions, exact"
            title = _cut(f"Speedup over the stage before, {name}: {unit}", COLUMNS)
            blocks.append("\n".join([paint(BOLD, title), *_speedup_rows(own, paint)]))
    gaps = [line for gap in report.get("gaps", []) for line in _wrap(gap_text(gap), "", INDENT)]
    return [*blocks, "\n".join(gaps)]


def _few(values: list[int], max_count: int) -> list[int]:
    """Return at most max_count of the sorted values, with the smallest and the largest."""
    if len(values) <= max_count:
        return values
    middle = [values[len(values) // 2]] if max_count > 2 else []
    return [*(values[:1] if max_count > 1 else []), *middle, values[-1]]


def _figures(report: Report, paint: Painter) -> list[str]:
    """Return tables of one call's cost, for a report that compares no stages."""
    blocks = []
    for stage in report["stages"]:
        samples = stage["samples"]
        metrics = list(dict.fromkeys((s["machine"], s["metric"]) for s in samples))
        if not metrics:
            continue
        found = {(s["machine"], s["metric"], s["phase"], s["n"]): s["median"] for s in samples}
        own = phases(samples)
        rows = [("n", *(phase for _ in metrics for phase in own))]
        for n in _few(sorted({s["n"] for s in samples}), MOST_ROWS):
            cells = [
                (found.get((*key, phase, n)), key[1]) for key in metrics for phase in own
            ]  # fmt: skip
            rows.append(
                (text.count(n), *("" if v is None else text.amount(v, r) for v, r in cells))
            )
        names = " and ".join(text.UNITS.get(metric, metric) for _, metric in metrics)
        title = _cut(f"One call of {text.stage_label(stage, report)}: {names}, medians", COLUMNS)
        lines = ["  ".join(row).rstrip() for row in _table(rows, ">" * len(rows[0]))]
        blocks.append("\n".join([paint(BOLD, title), *lines]))
    return blocks


def _speedup_rows(entries: list[Json], paint: Painter) -> list[str]:
    """Return a line for each pair of stages and n, with the phases side by side."""
    found = {(e["from"], e["to"], e["n"], e["phase"]): e for e in entries}
    pairs = sorted({(e["from"], e["to"]) for e in entries})
    most = max(1, min(MOST_N, MOST_ROWS // len(pairs)))
    keys: list[tuple[int, int, int]] = []
    excluded = 0
    for pair in pairs:
        all_n = sorted({e["n"] for e in entries if (e["from"], e["to"]) == pair})
        few = _few(all_n, most)
        excluded += len(all_n) - len(few)
        keys += [(*pair, n) for n in few]
    own = phases(entries)
    # If the intervals of all phases do not fit, drop them from the first phase on.
    for bare in range(len(own) + 1):
        rows = _speedup_cells(keys, own, bare, found)
        table = _table(rows, "<>" + "><" * bare + "><<" * (len(own) - bare))
        if len("  ".join(table[0])) <= COLUMNS:
            break
    lines = []
    for index, row in enumerate(table):
        painted = [_verdict_colour(cell, paint) for cell in row] if index else row
        lines.append("  ".join(painted).rstrip())
    message = []
    if excluded:
        which = (
            "the greatest n",
            "the least and the greatest n",
            "the least, a middle and the greatest n",
        )
        message.append(f"{excluded} more in index.html: here {which[most - 1]} of each pair")
    if bare:
        message.append(f"the intervals of {' and '.join(own[:bare])} are in index.html")
    if message:
        lines += [paint(DIM, line) for line in _wrap(f"({'; '.join(message)})", "", " ")]
    return lines


def _speedup_cells(
    keys: list[tuple[int, int, int]],
    own: list[str],
    bare: int,
    found: dict[tuple[int, int, int, str], Json],
) -> list[tuple[str, ...]]:
    """Return the table's header and rows; the first "bare" phases have no intervals."""
    head = ["stages", "n"]
    for index, phase in enumerate(own):
        head += [phase, "verdict"] if index < bare else [phase, "interval", "verdict"]
    rows = [tuple(head)]
    last = None
    for start, end, n in keys:
        cells = [f"{start} → {end}" if (start, end) != last else "", text.count(n)]
        last = (start, end)
        for index, phase in enumerate(own):
            entry = found.get((start, end, n, phase))
            parts = _comparison(entry) if entry else ["", "", ""]
            cells += [parts[0], parts[2]] if index < bare else parts
        rows.append(tuple(cells))
    return rows


def _comparison(entry: Json) -> list[str]:
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
            f"metrics disagree: {text.versus(entry)}, {entry['phase']}, "
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
