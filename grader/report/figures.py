# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What is in each picture: panels, series and axes, as a function of the report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from grader.report import text
from grader.report.axis import Axis, log_axis
from grader.report.schema import Report
from grader.report.text import Json

PHASES = ("compute", "decimal")
TIMES = "\N{MULTIPLICATION SIGN}"

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


@dataclass(frozen=True)
class Panel:
    """One pair of axes; baseline is a y drawn as a line, a tag is (x, y, text, colour)."""

    title: str
    x: Axis
    y: Axis
    series: list[tuple[Style, list[Point]]]
    baseline: float | None = None
    tags: list[tuple[float, float, str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Figure:
    """One picture, or, without panels, the reason why there is none."""

    name: str
    title: str
    caption: str
    panels: list[Panel]
    missing: str
    notes: list[str] = field(default_factory=list)


def figures(report: Report) -> list[Figure]:
    """Every picture of the report, in the order in which a reader meets them."""
    rulers = {machine["ruler"] for machine in report["machines"]}
    found = [_speedup(report), _cost(report, "ns")]
    if "instructions" in rulers:
        found.append(_cost(report, "instructions"))
    found.append(_memory(report))
    if any(stage.get("round_trips") for stage in report["stages"]):
        found.append(_round_trips(report))
    return found


def style(index: int, label: str) -> Style:
    """Colour and marker number index, from 0; colours repeat before pairs of both do."""
    colour = COLOURS[index % len(COLOURS)]
    return Style(label, colour, *MARKERS[(index + index // len(COLOURS)) % len(MARKERS)])


def stage_styles(report: Report) -> dict[str, Style]:
    """The style of every stage by its directory: by its number where numbers are unique."""
    stages = report["stages"]
    numbers = [stage["number"] for stage in stages]
    unique = len(set(numbers)) == len(numbers) and min(numbers, default=1) > 0
    return {
        stage["dir"]: style(
            stage["number"] - 1 if unique else index, text.stage_label(stage, report)
        )
        for index, stage in enumerate(stages)
    }


def _n_axis(values: list[float]) -> Axis:
    return log_axis(values, text.short_count, 10)


def _ends(interval: list[float] | None, value: float) -> tuple[float, float]:
    """The interval, or the value itself, kept above zero as a logarithmic axis needs it."""
    low, high = interval or (value, value)
    return (low if low > 0 else value), (high if high > 0 else value)


def _rows(report: Report, ruler: str) -> Iterator[tuple[str, str]]:
    """Name of every machine with that ruler, and what to add to a panel's title for it."""
    names = [m["name"] for m in report["machines"] if m["ruler"] == ruler]
    for name in names:
        yield name, f", {text.printable(name)}"


def _points(stage: Json, machine: str, ruler: str, phase: str) -> list[Point]:
    return sorted(
        (
            Point(s["n"], s["median"], *_ends(s["ci95"], s["median"]))
            for s in stage["samples"]
            if (s["machine"], s["ruler"], s["phase"]) == (machine, ruler, phase)
            and s["n"] > 0
            and s["median"] > 0
        ),
        key=lambda point: point.x,
    )


def _cost(report: Report, ruler: str) -> Figure:
    """Time, or instructions, against n for all stages."""
    styles = stage_styles(report)
    panels = []
    for machine, where in _rows(report, ruler):
        for phase in PHASES:
            series = [
                (styles[stage["dir"]], points)
                for stage in report["stages"]
                if (points := _points(stage, machine, ruler, phase))
            ]
            if series:
                panels.append(_cost_panel(series, phase + where, ruler))
    if ruler == "ns":
        name, title = "time", "Time of one call"
        caption = "Median time of one call by the kernel's clock, with its 95 % interval."
    else:
        name, title = "instructions", "Instructions of one call"
        caption = "Instructions executed by one call: an exact count of work, not a time."
    return Figure(name, title, caption, panels, f"no stage was measured in {ruler}")


def _cost_panel(series: list[tuple[Style, list[Point]]], title: str, ruler: str) -> Panel:
    points = [point for _, line in series for point in line]
    values = [v for p in points for v in (p.y, p.low, p.high)]
    label = text.short_duration if ruler == "ns" else text.short_count
    return Panel(
        f"{'time' if ruler == 'ns' else 'instructions'} of one call: {title}",
        _n_axis([point.x for point in points]),
        log_axis(values, label, 20),
        series,
    )


def _speedup(report: Report) -> Figure:
    """Speedup of each stage over the stage before, against n."""
    panels = []
    for machine in report["machines"]:
        for phase in PHASES:
            key = (machine["name"], machine["ruler"], phase)
            entries = [
                s
                for s in report["speedups"]
                if (s["machine"], s["ruler"], s["phase"]) == key and s["n"] > 0
            ]
            if entries:
                where = text.printable(machine["name"])
                title = f"speedup in {machine['ruler']}: {phase}, {where}"
                panels.append(_speedup_panel(entries, title))
    return Figure(
        "speedup",
        "Speedup of each stage over the stage before",
        "How many times faster a stage is than the stage before, with its interval. Above the "
        "line at 1 the later stage is faster; a hollow mark: no difference can be claimed.",
        panels,
        "no two stages were measured at the same n",
        [gap_text(gap) for gap in report.get("gaps", [])],
    )


def gap_text(gap: Json) -> str:
    """A pair of stages without a comparison, and why, as one line."""
    where = [text.printable(gap[key]) for key in ("machine", "ruler", "phase") if key in gap]
    return f"{', '.join([text.versus(gap), *where])}: {text.printable(gap['reason'])}"


def _speedup_panel(entries: list[Json], title: str) -> Panel:
    pairs = sorted({(entry["from"], entry["to"]) for entry in entries})
    series = []
    for pair in pairs:
        line = sorted(
            (
                Point(e["n"], e["ratio"], *_ends(e["ci95"], e["ratio"]), e["verdict"] != "~")
                for e in entries
                if (e["from"], e["to"]) == pair
            ),
            key=lambda point: point.x,
        )
        series.append((style(max(0, pair[1] - 1), f"{pair[0]} → {pair[1]}"), line))
    points = [point for _, line in series for point in line]
    values = [v for p in points for v in (p.y, p.low, p.high)] + [1.0]
    n_axis = _n_axis([point.x for point in points])
    y_axis = log_axis(values, lambda x: f"{TIMES}{x:,.6g}", 2)
    room = (n_axis.high / n_axis.low) ** 0.13
    return Panel(
        title,
        n_axis._replace(high=n_axis.high * room),
        y_axis,
        series,
        baseline=1.0,
        tags=_speedup_tags(series, y_axis),
    )


def _speedup_tags(
    series: list[tuple[Style, list[Point]]], y_axis: Axis
) -> list[tuple[float, float, str, str]]:
    """The ratio at each line's end, moved up until legible; none on the line at 1."""
    span = y_axis.high / y_axis.low
    apart, off_baseline = span**0.055, span**0.03
    tags: list[tuple[float, float, str, str]] = []
    for look, line in sorted(series, key=lambda one: one[1][-1].y):
        end = line[-1]
        if not end.sure or 1 / off_baseline < end.y < off_baseline:
            continue
        y = end.y
        for x, below, _, _ in tags:
            if x == end.x and y < below * apart:
                y = below * apart
        tags.append((end.x, y, f"{TIMES}{text.ratio(end.y)}", look.colour))
    return tags


def _memory(report: Report) -> Figure:
    """Allocations and peak bytes of one call against n."""
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
                # The count is the same on every machine, so the first that has it is enough.
                known: dict[int, float] = {}
                for s in stage["samples"]:
                    if s["phase"] == phase and s["n"] > 0 and s.get(key) is not None:
                        known.setdefault(s["n"], s[key])
                if known:
                    line = [Point(n, v, v, v) for n, v in sorted(known.items())]
                    series.append((styles[stage["dir"]], line))
            if series and all(point.y == 0 for _, line in series for point in line):
                missing = "no stage allocates memory"
            elif series:
                panels.append(_memory_panel(series, f"{what}: {phase}", label))
    return Figure(
        "memory",
        "Memory of one call",
        "Blocks allocated, and most bytes held at once, by one call.",
        panels,
        missing,
    )


def _memory_panel(
    series: list[tuple[Style, list[Point]]],
    title: str,
    label: Callable[[float], str],
) -> Panel:
    """Zero, which stages without a heap have, stands at the foot of the logarithmic axis."""
    points = [point for _, line in series for point in line]
    least = min(point.y for point in points if point.y > 0)
    zero = least / 3
    drawn = [
        (look, [p if p.y > 0 else Point(p.x, zero, zero, zero) for p in line])
        for look, line in series
    ]
    y = log_axis([max(zero, point.y) for point in points] + [least], label, 10)
    if any(point.y == 0 for point in points):
        major = [(x, name) for x, name in y.major if x >= least * 0.99]
        y = y._replace(major=[(zero, "0"), *major], minor=[x for x in y.minor if x > least])
    return Panel(title, _n_axis([point.x for point in points]), y, drawn)


def _round_trips(report: Report) -> Figure:
    """Time of read() by the user's clock, by the kernel's, and between the two."""
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
                    series.append((style(2 * index + 1, clock), line))
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
