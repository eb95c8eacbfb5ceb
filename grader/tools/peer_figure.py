# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The picture of a run of compare_gmp.py: everybody's time over GMP's against n."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from grader.report import text
from grader.report.axis import log_axis
from grader.report.figures import Figure, Panel, Point, Style, style
from grader.tools.peer_rows import PHASES, PYTHON, READ, Run

NAME = "compare-gmp"
# No stage has it: stages begin with number 1.
PYTHON_STYLE = Style(PYTHON, "#24292f", 3, 3)


def _style(name: str) -> Style:
    number, _, title = name.partition(" ")
    return PYTHON_STYLE if name == PYTHON else style(int(number) - 1, f"{number} {title}")


def _panel(run: Run, phase: str, title: str) -> Panel:
    """Medians of the ratios; the bars span the middle half of the rounds."""
    series: list[tuple[Style, list[Point]]] = []
    values = [1.0]
    for name in run.names[1:]:
        points = []
        for n in run.numbers():
            if found := run.ratios(n, name, phase):
                low, high = found[len(found) // 4], found[-1 - len(found) // 4]
                points.append(Point(n, statistics.median(found), low, high))
                values += [low, high]
        if points:
            series.append((_style(name), points))
    x = log_axis([float(n) for n in run.numbers()], text.short_count, 10)
    y = log_axis(values, text.short_count, 10)
    return Panel(title, x, y, series, baseline=1.0, wide=phase == READ)


def figure(run: Run, phases: Sequence[str] = PHASES) -> Figure:
    """A panel for each phase, the whole read wide."""
    titles = {phase: f"{phase}: time over GMP's, which is the line at 1" for phase in phases}
    panels = [_panel(run, phase, titles[phase]) for phase in phases]
    notes = [
        "Below the line: faster than GMP. Points: medians of the rounds; bars: their middle half.",
        f"In user space, CPU time: {run.computer}.",
    ]
    return Figure(NAME, "Fibonacci numbers, computed and printed: time over GMP's", "", panels,
                  "", notes)  # fmt: skip
