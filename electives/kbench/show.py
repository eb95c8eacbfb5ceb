# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Show measurements as tables for a terminal and as a picture."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from electives.kbench.metrics import Metric, MetricResults
from grader.base.columns import aligned
from grader.report import figures, plots
from grader.report.axis import Axis, log_axis

MS = 1e6


def amount(metric: Metric, value: float) -> str:
    """Return a value with its unit."""
    return f"{value:,.0f}" if metric.exact else f"{value / MS:,.3f} ms"


def spread(values: Sequence[float]) -> str:
    """Return the range of the runs in percent of their median."""
    middle = statistics.median(values)
    return f"{100 * (max(values) - min(values)) / middle:.3g} %" if middle else "-"


def table(measured: MetricResults) -> str:
    """Return a table of one program by every metric."""
    rows = [["metric", "runs", "median", "lowest", "highest", "spread", "what it is worth"]]
    for metric, ((*values,), *_) in measured.values.items():
        rows.append(
            [
                metric.name,
                str(len(values)),
                amount(metric, statistics.median(values)),
                amount(metric, min(values)),
                amount(metric, max(values)),
                spread(values) if len(values) > 1 else "-",
                metric.worth,
            ]
        )
    return aligned(rows, left_aligned=(0, 6))


def _metric_axis(metrics: Sequence[Metric]) -> Axis:
    """Return a logarithmic axis with the i-th metric at 2**i, which spaces the metrics evenly."""
    ticks = [(float(2**i), metric.name) for i, metric in enumerate(metrics)]
    return Axis(2**-0.5, 2 ** (len(metrics) - 0.5), ticks, [])


def picture(
    metrics: Sequence[Metric],
    bars: Sequence[tuple[float, float, float, bool]],
    title: str,
    notes: list[str],
    output: Path,
) -> None:
    """Draw a bar for each metric. Its values are middle, low, high, and True if significant."""
    series = [
        (
            figures.style(i + 1, metric.name),
            [figures.Point(float(2**i), middle, low, high, sure)],
        )
        for i, (metric, (middle, low, high, sure)) in enumerate(zip(metrics, bars))
    ]
    y = log_axis([x for bar in bars for x in bar[:3]] + [1.0], lambda v: f"{v:g}", 1.02)
    panel = figures.Panel(
        title, _metric_axis(metrics), y, series, baseline=1.0, x_label="metric", wide=True
    )
    figure = figures.Figure("kbench", title, "", [panel], "", notes)
    plots.draw_one(figure, output)


def picture_of_one(measured: MetricResults, name: str, output: Path) -> None:
    """Draw the spread of one program's runs, by metric."""
    bars = []
    for (*values,), *_ in measured.values.values():
        middle = statistics.median(values)
        bars.append((1.0, min(values) / middle, max(values) / middle, len(values) > 1))
    picture(
        list(measured.values),
        bars,
        "all runs over their median, by metric",
        [name, "A short bar: the values are nearly equal in all runs. Hollow: one run only."],
        output,
    )
