# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables for a terminal and one picture, of whatever the rulers have said."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from electives.kbench.rulers import Measured, Ruler
from grader.base.columns import aligned
from grader.report import figures, plots
from grader.report.axis import Axis, log_axis

MS = 1e6


def amount(ruler: Ruler, value: float) -> str:
    """A figure with its unit."""
    return f"{value:,.0f}" if ruler.exact else f"{value / MS:,.3f} ms"


def spread(values: Sequence[float]) -> str:
    """How far apart the runs are, of their median."""
    middle = statistics.median(values)
    return f"{100 * (max(values) - min(values)) / middle:.3g} %" if middle else "-"


def table(measured: Measured) -> str:
    """One program by every ruler."""
    rows = [["ruler", "runs", "median", "lowest", "highest", "spread", "what it is worth"]]
    for ruler, ((*values,), *_) in measured.values.items():
        rows.append(
            [
                ruler.name,
                str(len(values)),
                amount(ruler, statistics.median(values)),
                amount(ruler, min(values)),
                amount(ruler, max(values)),
                spread(values) if len(values) > 1 else "-",
                ruler.worth,
            ]
        )
    return aligned(rows, left=(0, 6))


def _ruler_axis(rulers: Sequence[Ruler]) -> Axis:
    """The rulers beside each other: the axis is logarithmic, so at powers of two."""
    ticks = [(float(2**i), ruler.name) for i, ruler in enumerate(rulers)]
    return Axis(2**-0.5, 2 ** (len(rulers) - 0.5), ticks, [])


def picture(
    rulers: Sequence[Ruler],
    bars: Sequence[tuple[float, float, float, bool]],
    title: str,
    notes: list[str],
    output: Path,
) -> None:
    """A bar for each ruler: (middle, low, high, whether it says something) around 1."""
    series = [
        (
            figures.style(i + 1, ruler.name),
            [figures.Point(float(2**i), middle, low, high, sure)],
        )
        for i, (ruler, (middle, low, high, sure)) in enumerate(zip(rulers, bars))
    ]
    y = log_axis([x for bar in bars for x in bar[:3]] + [1.0], lambda v: f"{v:g}", 1.02)
    panel = figures.Panel(
        title, _ruler_axis(rulers), y, series, baseline=1.0, x_label="ruler", wide=True
    )
    figure = figures.Figure("kbench", title, "", [panel], "", notes)
    plots.draw_one(figure, output)


def picture_of_one(measured: Measured, name: str, output: Path) -> None:
    """How far the runs of one program are apart, by ruler."""
    bars = []
    for (*values,), *_ in measured.values.values():
        middle = statistics.median(values)
        bars.append((1.0, min(values) / middle, max(values) / middle, len(values) > 1))
    picture(
        list(measured.values),
        bars,
        "all runs over their median, by ruler",
        [name, "A short bar: the ruler says the same each time. Hollow: one run only."],
        output,
    )
