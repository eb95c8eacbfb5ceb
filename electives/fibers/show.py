# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Show the benchmark as a table for a terminal and as a picture."""

from __future__ import annotations

from pathlib import Path

from electives.fibers.bench import LIBRARIES, SIZES, SLICE, SLICES, SwitchCosts, middle
from grader.base.columns import aligned
from grader.report import figures, plots, text
from grader.report.axis import log_axis


def table(measured: SwitchCosts) -> str:
    """Return the costs by number of fibers, and then the ratio by work between switches."""
    metric = measured.metric
    unit = "instructions" if metric == "instructions" else "time, median of 10 runs"
    rows = [
        ["", "make a fiber", "", "switch", "", f"{SLICES} times {SLICE:,} of work", "", ""],
        ["fibers", "module", "user", "module", "user", "module", "user", "ratio"],
    ]
    for size in SIZES:
        bare = [measured.bare[library, size] for library in LIBRARIES]
        whole = [SLICES * middle(measured.whole[library, size].switch) for library in LIBRARIES]
        values = [
            *(middle(cost.begin) for cost in bare),
            *(middle(cost.switch) for cost in bare),
            *whole,
        ]
        shown = [text.amount(round(value), metric) for value in values]
        rows.append([str(size), *shown, text.ratio(whole[0] / whole[1])])
    between = [["work between switches", *(f"{work:,}" for work in measured.ratio)]]
    between.append(["module / user", *(text.ratio(value) for value in measured.ratio.values())])
    return f"All in {unit}, for each fiber.\n\n{aligned(rows, ())}\n\n{aligned(between, ())}"


def spread(measured: SwitchCosts) -> str:
    """Return a line with the largest relative difference between runs of switches without work."""
    widest = max(
        (max(cost.switch) - min(cost.switch)) / middle(cost.switch)
        for cost in measured.bare.values()
    )
    return f"Runs of a bare switch differ by {100 * widest:.2g} % at most."


def picture(measured: SwitchCosts, output: Path) -> None:
    """Draw switches without work by number of fibers, and the ratio by work between switches."""
    unit = measured.metric
    switches = []
    for i, library in enumerate(LIBRARIES):
        points = []
        for size in SIZES:
            runs = measured.bare[library, size].switch
            points.append(figures.Point(float(size), middle(runs), min(runs), max(runs)))
        label = "module" if library == "module" else "user space"
        switches.append((figures.style(i + 1, label), points))
    values = [point.y for _, points in switches for point in points]
    left = figures.Panel(
        f"a bare switch, in {unit}",
        log_axis([float(size) for size in SIZES], text.short_count, 2),
        log_axis(values, text.short_count, 10),
        switches,
        x_label="fibers",
    )
    # The ratio without work is only in the table, because a logarithmic axis has no 0.
    ratio = {work: value for work, value in measured.ratio.items() if work}
    points = [figures.Point(float(work), value, value, value) for work, value in ratio.items()]
    right = figures.Panel(
        "module over user space",
        log_axis([float(work) for work in ratio], text.short_count, 10),
        log_axis([*ratio.values(), 1.0], lambda value: f"{value:g}", 2),
        [(figures.style(3, "module over user space"), points)],
        baseline=1.0,
        x_label="instructions of work between two switches",
    )
    notes = ["A switch by the kernel always costs the same: little, compared with much work."]
    figure = figures.Figure("fibers", "What a switch costs", "", [left, right], "", notes)
    plots.draw_one(figure, output)
