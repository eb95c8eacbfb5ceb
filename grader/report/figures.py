# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a picture is made of: panels with axes and series, whatever they are of.

Make a Figure of values and give it to plots.picture() or plots.draw_one().
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from grader.report.axis import Axis

# Okabe and Ito's colours, told apart by readers who see fewer colours, without their yellow,
# which is too faint on white. The dark page replaces them one by one: see report.css.
COLOURS = ("#4d4d4d", "#e69f00", "#d55e00", "#cc79a7", "#56b4e9", "#0072b2", "#009e73")
# gnuplot's point types: filled, and hollow for what nothing can be claimed about.
MARKERS = ((2, 2), (7, 6), (5, 4), (9, 8), (11, 10), (13, 12), (15, 14))


@dataclass(frozen=True)
class Style:
    """How a series looks, and what the legend calls it."""

    label: str
    colour: str
    filled: int
    hollow: int


@dataclass(frozen=True)
class Point:
    """A value with the ends of its interval; not sure: drawn hollow."""

    x: float
    y: float
    low: float
    high: float
    sure: bool = True


class PlotSeries(NamedTuple):
    """A line: how it looks, and its points by rising x."""

    style: Style
    points: list[Point]


@dataclass(frozen=True)
class Panel:
    """One pair of axes; baseline is a y drawn as a line, a tag is (x, y, text, colour).

    wide: it takes a whole row where others stand beside each other.
    rows: how many labelled rows y has; then x is what is measured, a point's low and high are its
    ends, the baseline is an x, and no line joins the points.
    height: in pixels of the SVG; of rows it follows from their number.
    """

    title: str
    x: Axis
    y: Axis
    series: Sequence[tuple[Style, list[Point]]]
    baseline: float | None = None
    tags: list[tuple[float, float, str, str]] = field(default_factory=list)
    x_label: str = "n"
    wide: bool = False
    rows: int = 0
    height: int = 360


@dataclass(frozen=True)
class Figure:
    """One picture, or, without panels, the reason why there is none."""

    name: str
    title: str
    caption: str
    panels: list[Panel]
    missing: str
    notes: list[str] = field(default_factory=list)
    columns: int = 2  # panels beside each other on a wide page


def style(index: int, label: str) -> Style:
    """Colour and marker number index; colours repeat before pairs of both do."""
    colour = COLOURS[index % len(COLOURS)]
    return Style(label, colour, *MARKERS[(index + index // len(COLOURS)) % len(MARKERS)])
