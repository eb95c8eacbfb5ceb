# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Show the table and the picture of make memblock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from electives.memblock.measure import ARRAY, CALLS, REGIONS, Counts, Share, verdict
from grader.base.columns import aligned
from grader.report import figures, plots
from grader.report.axis import Axis, log_axis

# Numbers of regions in the table; the picture has all.
ROWS = (0, 8, 64, 127, ARRAY)
DRAWN = ("append", "front", "middle", "across")


def state(regions: int) -> str:
    """Return a description of the fill level of an array for 128 regions."""
    if regions == ARRAY:
        return "full: it grows"
    return {0: "empty", 64: "half full", 127: "nearly full"}.get(regions, "few")


def table(counts: Mapping[str, Counts], shares: Mapping[str, Share]) -> str:
    """Return a table: a row for each call and state, then the shares in the kernel's tests."""
    names = list(counts)
    head = ["call", "regions", "array", *names[:1]]
    for name in names[1:]:
        head += [name, "verdict"]
    rows = [head]
    for call, words in CALLS.items():
        for regions in ROWS:
            if (call, regions) not in counts[names[0]] or (regions == 0 and call != "append"):
                continue
            cells = [counts[name][call, regions] for name in names]
            row = [words, str(regions), state(regions), f"{cells[0]:,}"]
            for cell in cells[1:]:
                row += [f"{cell:,}", verdict(cells[0], cell)]
            rows.append(row)
    if shares:
        first = shares[names[0]]
        for i, words in enumerate(("share of the tests", "with what it calls")):
            row = [words, "", "", f"{first.percent[i]:.2f} %"]
            for name in names[1:]:
                one = shares[name]
                before, after = (first.own, one.own) if i == 0 else (first.called, one.called)
                row += [f"{one.percent[i]:.2f} %", verdict(before, after)]
            rows.append(row)
    words_at = (0, 2, *range(5, len(head), 2))
    return aligned(rows, words_at)


def _regions_axis() -> Axis:
    ticks = (1, 2, 4, 8, 16, 32, 64, ARRAY)
    return Axis(0.9, 150.0, [(float(n), str(n)) for n in ticks], [])


def picture(counts: Mapping[str, Counts], title: str, output: Path) -> None:
    """Draw instructions by the number of regions, in a panel for each call."""
    panels = []
    for call in DRAWN:
        series = []
        for i, (name, of) in enumerate(counts.items()):
            points = [
                figures.Point(float(n), float(of[call, n]), float(of[call, n]), float(of[call, n]))
                for n in REGIONS
                if n and (call, n) in of
            ]
            series.append((figures.style((0, 2, 5)[i % 3], name), points))
        y = log_axis((p.y for _, points in series for p in points), lambda v: f"{v:,.0f}", 4)
        panels.append(figures.Panel(CALLS[call], _regions_axis(), y, series, x_label="regions"))
    notes = ["Instructions of one memblock_reserve(), by callgrind. At 128 the array grows."]
    plots.draw_one(figures.Figure("memblock", title, "", panels, "", notes), output)
