# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Build the figures of the stages' report from the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from grader.report import text
from grader.report.axis import Axis, log_axis, row_axis
from grader.report.figures import Figure, Panel, PlotSeries, Point, Style, style
from grader.report.schema import Report
from grader.report.text import Json

# The phases in the order of execution during a read. The last one is the whole read.
PHASES = ("compute", "decimal", "read")
WHOLE = "read"
WHOLE_CAPTION = f" {WHOLE}: the whole of a read, compute and decimal together."
TIMES = "\N{MULTIPLICATION SIGN}"
_WORDS = {"ns": "time", "instructions": "instructions"}
# The index of the style for each phase.
PHASE_STYLES = {"compute": 2, "decimal": 6, "read": 5}
# Height in pixels of the panel that shows one step between stages.
STEP_HEIGHT = 230
# Gains below this ratio are not drawn, because the axis would leave no width for the other gains. A
# note gives their values.
LEAST_DRAWN = 0.1


def figures(report: Report) -> list[Figure]:
    """Return every picture of the report, in the order in which a reader sees them."""
    metrics = {machine["metric"] for machine in report["machines"]}
    found = [speedup(report)]
    found += [steps(report, metric) for metric in ("ns", "instructions") if metric in metrics]
    found.append(cost(report, "ns"))
    if "instructions" in metrics:
        found.append(cost(report, "instructions"))
    found.append(_memory(report))
    if any(stage.get("round_trips") for stage in report["stages"]):
        found.append(_round_trips(report))
    return found


def stage_styles(report: Report) -> dict[str, Style]:
    """Return the plot style of every stage, by directory.

    It depends on the stage number if all numbers are different, else on the position.
    """
    stages = report["stages"]
    numbers = [stage["number"] for stage in stages]
    unique = len(set(numbers)) == len(numbers)
    return {
        stage["dir"]: style(
            stage["number"] - 1 if unique else index, text.stage_label(stage, report)
        )
        for index, stage in enumerate(stages)
    }


def _n_axis(values: list[float]) -> Axis:
    return log_axis(values, text.short_count, 10)


def _ends(interval: list[float] | None, value: float) -> tuple[float, float]:
    """Return the ends of the interval, or the value twice, as positive numbers."""
    low, high = interval or (value, value)
    return (low if low > 0 else value), (high if high > 0 else value)


def phases(entries: Iterable[Json]) -> list[str]:
    """Return the phases that occur in samples or speedups, in order."""
    found = {entry["phase"] for entry in entries}
    return [phase for phase in PHASES if phase in found]


def _arranged(panels: list[tuple[str, Panel]]) -> list[Panel]:
    """Return the panels in the order for a page of two columns.

    panels: pairs of a phase and a panel; the phases of one machine follow each other.

    In the result, panels of the whole read come first, because readers look for them first. With
    one machine, the whole read has a row of its own; with several machines, each row is a phase and
    each column a machine.
    """
    if not any(phase == WHOLE for phase, _ in panels):
        return [panel for _, panel in panels]
    whole = [panel for phase, panel in panels if phase == WHOLE]
    parts = [panel for phase, panel in panels if phase != WHOLE]
    if len(whole) == 1:
        return [replace(whole[0], wide=True), *parts]
    rows = [[p for phase, p in panels if phase == row] for row in (WHOLE, *PHASES[:-1])]
    # With an odd number of panels in a row, the panels of the following rows would not be aligned.
    rows = [[replace(r[0], wide=True), *r[1:]] if len(r) % 2 else r for r in rows]
    return [panel for row in rows for panel in row]


def _points(stage: Json, machine: str, metric: str, phase: str) -> list[Point]:
    return sorted(
        (
            Point(s["n"], s["median"], *_ends(s["ci95"], s["median"]))
            for s in stage["samples"]
            if (s["machine"], s["metric"], s["phase"]) == (machine, metric, phase)
            and s["n"] > 0
            and s["median"] > 0
        ),
        key=lambda point: point.x,
    )


def cost(report: Report, metric: str) -> Figure:
    """Return the figure of time or instructions against n for all stages."""
    styles = stage_styles(report)
    panels = []
    for machine in (m["name"] for m in report["machines"] if m["metric"] == metric):
        for phase in PHASES:
            series = [
                PlotSeries(styles[stage["dir"]], points)
                for stage in report["stages"]
                if (points := _points(stage, machine, metric, phase))
            ]
            if series:
                title = f"{phase}, {text.printable(machine)}"
                panels.append((phase, _cost_panel(series, title, metric)))
    if metric == "ns":
        name, title = "time", "Time of one call"
        caption = "Median time of one call by the kernel's clock, with its 95 % interval."
    else:
        name, title = "instructions", "Instructions of one call"
        caption = "Instructions executed by one call: an exact count of work, not a time."
    return Figure(
        name,
        title,
        caption + _on_whole(panels),
        _arranged(panels),
        f"no stage was measured in {metric}",
    )


def _on_whole(panels: list[tuple[str, Panel]]) -> str:
    """Return the caption's explanation of the whole read if a panel shows it, else ""."""
    return WHOLE_CAPTION if any(phase == WHOLE for phase, _ in panels) else ""


def _cost_panel(series: list[PlotSeries], title: str, metric: str) -> Panel:
    points = [point for _, line in series for point in line]
    values = [v for p in points for v in (p.y, p.low, p.high)]
    label = text.short_duration if metric == "ns" else text.short_count
    return Panel(
        f"{'time' if metric == 'ns' else 'instructions'} of one call: {title}",
        _n_axis([point.x for point in points]),
        log_axis(values, label, 20),
        series,
    )


def speedup(report: Report) -> Figure:
    """Return the figure of each step's gain at one n, with a row for each step."""
    phase = WHOLE if any(s["phase"] == WHOLE for s in report["speedups"]) else PHASES[0]
    entries = [s for s in report["speedups"] if s["phase"] == phase and s["n"] > 0]
    chosen = _at_own_n(entries, report)
    off = {pair for pair, some in chosen.items() if all(s["ratio"] < LEAST_DRAWN for s in some)}
    drawn = {pair: some for pair, some in chosen.items() if pair not in off}
    notes = [_off_the_picture(chosen[pair]) for pair in sorted(off)]
    return Figure(
        "speedup",
        "Gain of each step over the one before",
        f"How many times as fast a stage is as the stage before, {phase}, at the n that its speed "
        "is judged at, with its 95 % interval. Right of the line at 1 the later stage is faster; a "
        "hollow mark: no difference is proved." + (WHOLE_CAPTION if phase == WHOLE else ""),
        [_summary(drawn, report, phase)] if drawn else [],
        "no two stages were measured at the same n",
        [gap_text(gap) for gap in report.get("gaps", [])] + notes,
    )


def _at_own_n(entries: list[Json], report: Report) -> dict[tuple[int, int], list[Json]]:
    """Return each pair's speedups at the later stage's own n, or else at the largest n."""
    own = {stage["number"]: stage.get("speed_n", math.inf) for stage in report["stages"]}
    found: dict[tuple[int, int], list[Json]] = {}
    for pair in sorted({(s["from"], s["to"]) for s in entries}):
        some = [s for s in entries if (s["from"], s["to"]) == pair]
        wanted = own.get(pair[1], math.inf)
        n = max((s["n"] for s in some if s["n"] <= wanted), default=min(s["n"] for s in some))
        found[pair] = [s for s in some if s["n"] == n]
    return found


def _off_the_picture(entries: list[Json]) -> str:
    """Return a note about a gain that is too small for the picture."""
    pair, n = text.versus(entries[0]), entries[0]["n"]
    losses = [f"{1 / s['ratio']:,.0f} times the {_WORDS[s['metric']]}" for s in entries]
    return f"{pair} is not drawn: at n = {n:,} it takes {', '.join(losses)}"


def _summary(chosen: dict[tuple[int, int], list[Json]], report: Report, phase: str) -> Panel:
    """Return a panel with a row for each pair of stages and, in it, a mark for each machine."""
    names = [machine["name"] for machine in report["machines"]]
    series, tags = [], []
    for index, machine in enumerate(report["machines"]):
        offset = (index - (len(names) - 1) / 2) * 0.8 / len(names)
        label = f"{_WORDS[machine['metric']]}, {text.printable(machine['name'])}"
        look = style((5, 2, 6, 3)[index % 4], label)
        points = []
        for row, some in enumerate(chosen.values(), 1):
            for s in (s for s in some if s["machine"] == machine["name"]):
                low, high = _ends(s["ci95"], s["ratio"])
                points.append(Point(s["ratio"], row + offset, low, high, s["verdict"] != "~"))
                tags.append((high, row + offset, _times(s["ratio"], text.ratio), look.colour))
        if points:
            series.append(PlotSeries(look, points))
    values = [v for _, line in series for p in line for v in (p.x, p.low, p.high)] + [1.0]
    x = log_axis(values, _times, 2)
    labels = [
        f"{start} → {end}, n = {text.short_count(some[0]['n'])}"
        for (start, end), some in chosen.items()
    ]
    return Panel(
        f"{phase}: how many times as fast as the stage before",
        x._replace(high=x.high * (x.high / x.low) ** 0.12),
        row_axis(labels),
        series,
        baseline=1.0,
        tags=tags,
        x_label="",
        wide=True,
        rows=len(labels),
    )


def steps(report: Report, metric: str) -> Figure:
    """Return the figure of each step's gain by n, with a small panel for each step."""
    panels = []
    for machine in (m for m in report["machines"] if m["metric"] == metric):
        own = [
            s
            for s in report["speedups"]
            if (s["machine"], s["metric"]) == (machine["name"], metric) and s["n"] > 0
        ]
        for pair in sorted({(s["from"], s["to"]) for s in own}):
            some = [s for s in own if (s["from"], s["to"]) == pair]
            title = f"{pair[0]} → {pair[1]}, {text.printable(machine['name'])}"
            panels.append(_step_panel(some, title))
    what = f"in {_WORDS[metric]}"
    return Figure(
        f"steps-{metric}",
        f"Each step {what}, against n",
        f"How many times as fast a stage is as the stage before, {what}, with its interval. Above "
        "the line at 1 the later stage is faster; a hollow mark: no difference is proved."
        + (WHOLE_CAPTION if any(s["phase"] == WHOLE for s in report["speedups"]) else ""),
        panels,
        f"no two stages were compared in {metric}",
        columns=3,
    )


def gap_text(gap: Json) -> str:
    """Return a line with a pair of stages without a comparison, and the reason for this gap."""
    where = [text.printable(gap[key]) for key in ("machine", "metric", "phase") if key in gap]
    return f"{', '.join([text.versus(gap), *where])}: {text.printable(gap['reason'])}"


def _step_panel(entries: list[Json], title: str) -> Panel:
    series = []
    for phase in phases(entries):
        line = sorted(
            (
                Point(e["n"], e["ratio"], *_ends(e["ci95"], e["ratio"]), e["verdict"] != "~")
                for e in entries
                if e["phase"] == phase
            ),
            key=lambda point: point.x,
        )
        series.append(PlotSeries(style(PHASE_STYLES[phase], phase), line))
    points = [point for _, line in series for point in line]
    values = [v for p in points for v in (p.y, p.low, p.high)] + [1.0]
    n_axis = _n_axis([point.x for point in points])
    y_axis = log_axis(values, _times, 2)
    room = (n_axis.high / n_axis.low) ** 0.2
    tags = _end_tags(series, y_axis)
    highest = max((y for _, y, _, _ in tags), default=1.0) * (y_axis.high / y_axis.low) ** 0.05
    return Panel(
        title,
        n_axis._replace(high=n_axis.high * room),
        y_axis._replace(high=max(y_axis.high, highest)),
        series,
        baseline=1.0,
        tags=tags,
        height=STEP_HEIGHT,
    )


def _times(ratio: float, label: Callable[[float], str] = "{:,.6g}".format) -> str:
    """Return a ratio as a label, shortened to fit beside its axis."""
    if ratio < 0.01:
        return f"{TIMES}{ratio:.1g}"
    return TIMES + (text.short_count(float(f"{ratio:.3g}")) if ratio >= 1e4 else label(ratio))


def _end_tags(series: list[PlotSeries], y_axis: Axis) -> list[tuple[float, float, str, str]]:
    """Return tags with the ratio at the end of each line, moved up where they would overlap.

    A ratio close to the line at 1 has no tag.
    """
    span = y_axis.high / y_axis.low
    apart, off_baseline = span**0.1, span**0.05
    tags: list[tuple[float, float, str, str]] = []
    for one in sorted(series, key=lambda one: one.points[-1].y):
        end = one.points[-1]
        if not end.sure or 1 / off_baseline < end.y < off_baseline:
            continue
        y = end.y
        for x, below, _, _ in tags:
            if x == end.x and y < below * apart:
                y = below * apart
        tags.append((end.x, y, _times(end.y, text.ratio), one.style.colour))
    return tags


def _memory(report: Report) -> Figure:
    """Return the figure of allocations and peak bytes of one call against n."""
    styles = stage_styles(report)
    panels = []
    missing = "no stage reported its allocations"
    for key, what, label in (
        ("allocations", "allocations of one call", text.short_count),
        ("peak_bytes", "peak memory of one call", text.short_size),
    ):
        for phase in PHASES:
            series = []
            for stage in report["stages"]:
                # The allocation counts are equal on all machines, so take them from the first
                # machine that reports them.
                known: dict[int, float] = {}
                for s in stage["samples"]:
                    if s["phase"] == phase and s["n"] > 0 and s.get(key) is not None:
                        known.setdefault(s["n"], s[key])
                if known:
                    line = [Point(n, v, v, v) for n, v in sorted(known.items())]
                    series.append(PlotSeries(styles[stage["dir"]], line))
            if series and all(point.y == 0 for _, line in series for point in line):
                missing = "no stage allocates memory"
            elif series:
                panels.append((phase, _memory_panel(series, f"{what}: {phase}", label)))
    return Figure(
        "memory",
        "Memory of one call",
        "Blocks allocated, and most bytes held at once, by one call." + _on_whole(panels),
        _arranged(panels),
        missing,
    )


def _memory_panel(
    series: list[PlotSeries],
    title: str,
    label: Callable[[float], str],
) -> Panel:
    """Return a panel whose logarithmic axis has zero at its bottom end.

    The memory use of stages without a heap is zero, which a logarithmic axis could not show.
    """
    points = [point for _, line in series for point in line]
    least = min(point.y for point in points if point.y > 0)
    zero = least / 3
    drawn = [
        PlotSeries(look, [p if p.y > 0 else Point(p.x, zero, zero, zero) for p in line])
        for look, line in series
    ]
    y = log_axis([max(zero, point.y) for point in points] + [least], label, 10)
    if any(point.y == 0 for point in points):
        major = [(x, name) for x, name in y.major if x >= least * 0.99]
        y = y._replace(major=[(zero, "0"), *major], minor=[x for x in y.minor if x > least])
    return Panel(title, _n_axis([point.x for point in points]), y, drawn)


def _round_trips(report: Report) -> Figure:
    """Return the figure of read() times by the user's and the kernel's clock."""
    clocks = ("user", "kernel", "difference")
    panels = []
    for stage in report["stages"]:
        trips = [trip for trip in stage.get("round_trips", []) if trip["n"] > 0]
        for machine in sorted({trip["machine"] for trip in trips}):
            own = sorted((t for t in trips if t["machine"] == machine), key=lambda t: int(t["n"]))
            series = []
            for index, clock in enumerate(clocks):
                line = [Point(t["n"], t[clock], t[clock], t[clock]) for t in own if t[clock] > 0]
                if line:
                    series.append(PlotSeries(style(2 * index + 1, clock), line))
            if series:
                where = f"{text.stage_label(stage, report)}, {text.printable(machine)}"
                panels.append(_cost_panel(series, where, "ns"))
    return Figure(
        "user-kernel",
        "One read() by two clocks",
        "Median time of one read() by the user's clock and by the kernel's, and the difference: "
        "what it costs to enter the kernel and to copy the digits out.",
        panels,
        "no read() was timed from user space",
    )
