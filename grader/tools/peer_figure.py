# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the picture of a run of compare_gmp.py: each contender's time divided by GMP's."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from grader.report import text
from grader.report.axis import Axis, log_axis
from grader.report.figures import Figure, Panel, PlotSeries, Point, Style, style
from grader.tools.peer_rows import FLINT, PHASES, PYTHON, READ, WHAT, PeerRun

NAME = "compare-gmp"
# Fractions of the axes: distance of a tag's middle from the end of its line, and height of a tag.
TAG_AWAY, TAG_HEIGHT = 0.015, 0.05
# Colours and markers that no stage's style has.
PYTHON_STYLE = Style(PYTHON, "#24292f", 3, 3)
FLINT_STYLE = Style(FLINT, "#24292f", 5, 2)


def _style(name: str) -> Style:
    number, _, title = name.partition(" ")
    peers = {PYTHON: PYTHON_STYLE, FLINT: FLINT_STYLE}
    return peers.get(name) or style(int(number) - 1, f"{number} {title}")


def _height_at(points: list[Point], x: float) -> float | None:
    """Return a line's y at x, interpolated on logarithmic axes; None outside the line."""
    for before, after in itertools.pairwise(points):
        if before.x <= x <= after.x:
            share = math.log(x / before.x) / math.log(after.x / before.x)
            return before.y * math.exp(share * math.log(after.y / before.y))
    return None


def _tags(lines: dict[str, PlotSeries], x: Axis, y: Axis) -> list[tuple[float, float, str, str]]:
    """Return tags with the stage's number at the end of its line, since colours repeat.

    A tag is moved below or above the end of its line where another line, or the line at 1, would
    cross the tag.
    """
    reach, room = (x.high / x.low) ** TAG_AWAY, (y.high / y.low) ** TAG_HEIGHT
    tags: list[tuple[float, float, str, str]] = []
    for name, (drawn, points) in sorted(lines.items(), key=lambda one: one[1].points[-1].y):
        end = points[-1]
        taken = [(height, room) for at, height, _, _ in tags if at == end.x]
        for other in lines.values():
            height = _height_at(other.points, end.x * reach)
            taken += [(height, room**0.5)] if height and other.points is not points else []
        taken.append((1.0, room**0.5))
        for height in (end.y, end.y / room, end.y * room):
            if all(max(height / h, h / height) >= apart for h, apart in taken):
                tags.append((end.x, height, name.split(" ")[0], drawn.colour))
                break
    return tags


def _panel(run: PeerRun, phase: str, wide: bool) -> Panel:
    """Return a panel with the medians of the ratios; bars span the middle half of the rounds."""
    lines: dict[str, PlotSeries] = {}
    values = [1.0]
    for name in run.names[1:]:
        points = []
        for n in run.numbers():
            if found := run.ratios(n, name, phase):
                low, high = found[len(found) // 4], found[-1 - len(found) // 4]
                points.append(Point(n, statistics.median(found), low, high))
                values += [low, high]
        if points:
            lines[name] = PlotSeries(_style(name), points)
    x = log_axis([float(n) for n in run.numbers()], text.short_count, 10)
    y = log_axis(values, text.short_count, 10)
    x = x._replace(high=x.high * (x.high / x.low) ** 0.09)
    y = y._replace(high=y.high * (y.high / y.low) ** TAG_HEIGHT)
    title = f"{phase}: how many times as long as GMP ({WHAT[phase]})"
    tags = _tags(lines, x, y)
    return Panel(title, x, y, list(lines.values()), baseline=1.0, tags=tags, wide=wide)


def figure(run: PeerRun, phases: Sequence[str] = PHASES) -> Figure:
    """Return the figure. It has a panel for each phase; the panel of the whole read is wide."""
    notes = [
        "GMP is the line at 1: below it is faster. Points: medians of the rounds; bars: their "
        "middle half.",
        f"In user space, CPU time: {run.computer}.",
    ]
    panels = [_panel(run, phase, phase == READ) for phase in phases]
    return Figure(NAME, "Stages against GMP", "", panels, "", notes)
