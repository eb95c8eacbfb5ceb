# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The parts of a picture: panels with axes and series, independent of the kind of data.

Build a Figure and pass it to plots.picture() or plots.draw_one().
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from grader.report.axis import Axis

# The Okabe-Ito palette, which colour-blind readers can distinguish, without the yellow, which is
# too faint on white. A dark page replaces each colour: see report.css.
COLOURS = ("#4d4d4d", "#e69f00", "#d55e00", "#cc79a7", "#56b4e9", "#0072b2", "#009e73")
# gnuplot's point types: filled, and hollow for values without a significant difference.
MARKERS = ((2, 2), (7, 6), (5, 4), (9, 8), (11, 10), (13, 12), (15, 14))


@dataclass(frozen=True)
class Style:
    """The look of a series, and its label in the legend."""

    label: str
    colour: str
    filled: int
    hollow: int


@dataclass(frozen=True)
class Point:
    """A value with its confidence interval. The mark is hollow if `sure` is false."""

    x: float
    y: float
    low: float
    high: float
    sure: bool = True


class PlotSeries(NamedTuple):
    """A line of a panel: its style, and its points by increasing x."""

    style: Style
    points: list[Point]


@dataclass(frozen=True)
class Panel:
    """A pair of axes. `baseline` is the y of a horizontal line; a tag is (x, y, text, colour).

    wide: the panel fills a whole row of the picture.
    rows: the number of labelled rows on the y axis, 0 for none. With rows, x is the measured value,
    a point's low and high are the ends of its interval in x, baseline is an x, and no line joins
    the points.
    height: in pixels of the SVG; ignored with rows, whose number determines the height.
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
    """A picture, or, without panels, the reason why there is no picture."""

    name: str
    title: str
    caption: str
    panels: list[Panel]
    missing: str
    notes: list[str] = field(default_factory=list)
    columns: int = 2  # the number of panels in each row on a wide page


def style(index: int, label: str) -> Style:
    """Return the style with this index; a pair of colour and marker repeats as late as possible."""
    colour = COLOURS[index % len(COLOURS)]
    return Style(label, colour, *MARKERS[(index + index // len(COLOURS)) % len(MARKERS)])
