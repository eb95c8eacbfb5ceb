# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compare two directories of one stage: table rows, a verdict and a picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.exercise.conformance.verify import Verified
from grader.exercise.files.stages import Stage
from grader.exercise.workload.stage_workload import PHASES
from grader.measure import comparison, timing
from grader.measure.comparison import Compared
from grader.measure.samples import Samples
from grader.report import figures, plots
from grader.report.axis import log_axis
from grader.report.text import UNITS, short_count

# Smaller differences in time are not reported, because a few seconds of measurement on a computer
# with other load cannot prove them. The exact metric also proves smaller differences.
NS_MARGIN = 0.03


@dataclass(frozen=True)
class ComparisonRow:
    """Both stages at one phase and n by one metric."""

    metric: str
    phase: str
    n: int
    cost: Compared


@dataclass(frozen=True)
class ComparedStage:
    """One of the two stages: its name and its verification."""

    name: str
    result: Verified


def rows(
    both: tuple[Stage, Stage], metric: str, samples: Samples, seed: int
) -> list[ComparisonRow]:
    """Compare both stages at each phase and n that has samples of both.

    The exact metric is judged by its resolution, time by statistics.
    """
    places = [
        (phase, n)
        for phase in PHASES
        for n in both[0].manifest.measure
        if all((stage.key, phase, n) in samples for stage in both)
    ]
    pairs = [
        (samples[both[0].key, phase, n], samples[both[1].key, phase, n]) for phase, n in places
    ]
    compared = comparison.compare(metric, pairs, seed, NS_MARGIN, timing.LOOKS)
    return [ComparisonRow(metric, phase, n, one) for (phase, n), one in zip(places, compared)]


def undecided(
    both: tuple[Stage, Stage], samples: Samples, seed: int, growth: float
) -> set[tuple[str, int]]:
    """Return the (stage key, n) whose times must be measured again, see timing.measure."""
    found = rows(both, "ns", samples, seed)
    maybe = comparison.undecided([row.cost for row in found], NS_MARGIN, growth)
    return {(stage.key, row.n) for row, more in zip(found, maybe) if more for stage in both}


def overall(found: Iterable[ComparisonRow]) -> str:
    """Return "faster" or "slower" if all proved differences agree, "mixed" if not, "~" if none."""
    claims = {row.cost.verdict for row in found} - {"~"}
    if not claims:
        return "~"
    return claims.pop() if len(claims) == 1 else "mixed"


def _change(row: ComparisonRow) -> str:
    """Return the change in cost from the first stage to the second as text, for example "+3 %"."""
    if row.cost.ratio >= 2 or row.cost.ratio <= 0.5:
        factor = max(row.cost.ratio, 1 / row.cost.ratio)
        return f"{factor:.2f} times {'less' if row.cost.ratio > 1 else 'more'}"
    percent = 100 * (1 / row.cost.ratio - 1)
    return f"{percent:+.{1 if abs(percent) >= 0.95 else 2}f} %"


def _by_metric(metric: str, found: list[ComparisonRow]) -> str:
    """Return, for each phase, the largest difference that one metric proves."""
    parts = []
    for phase in PHASES:
        claims = [row for row in found if row.phase == phase and row.cost.verdict != "~"]
        if claims:
            most = max(claims, key=lambda row: comparison.size(row.cost))
            parts.append(f"{phase} {_change(most)} at n = {most.n:,}")
        else:
            parts.append(f"{phase} ~")
    return f"{UNITS[metric]}: " + ("~" if overall(found) == "~" else ", ".join(parts))


def verdict_line(names: tuple[str, str], found: list[ComparisonRow]) -> str:
    """Return the verdict in one line, the exact metric first."""
    metrics = [r for r in ("instructions", "ns") if any(row.metric == r for row in found)]
    parts = [_by_metric(r, [row for row in found if row.metric == r]) for r in metrics]
    return f"{overall(found)}  {names[1]} against {names[0]}; {'; '.join(parts)}"


def lines_by_n(found: list[ComparisonRow]) -> str:
    """Return a line for each n with the differences proved there, the exact metric first."""
    lines = []
    for n in sorted({row.n for row in found}):
        own = sorted((row for row in found if row.n == n), key=lambda row: row.metric)
        message = {
            metric: ", ".join(
                f"{row.phase} {'~' if row.cost.verdict == '~' else _change(row)}"
                for row in own
                if row.metric == metric
            )
            for metric in dict.fromkeys(row.metric for row in own)
        }
        parts = "; ".join(f"{UNITS[metric]}: {text}" for metric, text in message.items())
        lines.append(f"n = {n:,}: {parts}")
    return "\n".join(lines)


def details(sides: list[ComparedStage], found: list[ComparisonRow]) -> str:
    """Return a table of all numbers on which the verdict is based."""
    lines = []
    for letter, side in zip("AB", sides):
        lines.append(f"{letter}  {side.name}: {side.result.passed:,} tests passed")
    head = ("", "phase", "n", "A", "B", "A/B", "95 % interval", "p", "B is")
    table = [head]
    for row in found:
        table.append(
            (
                UNITS[row.metric] + (", ns" if row.metric == "ns" else ""),
                row.phase,
                f"{row.n:,}",
                f"{row.cost.before:,.1f}",
                f"{row.cost.after:,.1f}",
                f"{row.cost.ratio:.4f}",
                f"{row.cost.low:.4f} - {row.cost.high:.4f}",
                "exact" if row.cost.p is None else f"{row.cost.p:.2g}",
                row.cost.verdict,
            )
        )
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    for line in table:
        cells = [c.ljust(w) if i in (0, 1, 8) else c.rjust(w)
                 for i, (c, w) in enumerate(zip(line, widths))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _point(row: ComparisonRow) -> figures.Point:
    cost = row.cost
    return figures.Point(row.n, cost.ratio, cost.low, cost.high, cost.verdict != "~")


def plot(found: list[ComparisonRow], names: tuple[str, str], output: Path) -> None:
    """Draw A/B against n, with one panel for each metric. The suffix of output is .svg or .png."""
    panels = []
    for metric in dict.fromkeys(row.metric for row in found):
        own = [row for row in found if row.metric == metric and row.n > 0]
        series = [
            (
                figures.style(4 * i + 1, phase),
                [_point(row) for row in own if row.phase == phase],
            )
            for i, phase in enumerate(PHASES)
        ]  # fmt: skip
        values = [v for row in own for v in (row.cost.low, row.cost.high, 1.0)]
        x = log_axis([row.n for row in own], short_count, 10)
        y = log_axis(values, lambda v: f"{v:g}", 1.1)
        title = f"{UNITS[metric]}: A over B, above 1 B takes less"
        panels.append(figures.Panel(title, x, y, series, baseline=1.0))
    notes = [f"A: {names[0]}", f"B: {names[1]}. A hollow mark: no difference is proved."]
    figure = figures.Figure("compare", "Two stages compared", "", panels, "", notes)
    plots.draw_one(figure, output)
