# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Write the report as one self-contained HTML page."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from grader.report import text
from grader.report.plots import PlotPicture
from grader.report.schema import Report
from grader.report.stage_figures import gap_text, phases
from grader.report.text import Json

EXCERPT = 72
MOST_FAILURES = 20
STATISTICS = ("mean", "trimmed_mean", "min", "max")


HERE = Path(__file__).parent


def templates(folder: Path) -> Environment:
    """Return the template environment of a folder; all text except Markup is escaped."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


def css() -> Markup:
    """Return the style sheet of every page, to be included in the page."""
    return Markup((HERE / "report.css").read_text(encoding="utf-8"))


def page(report: Report, pictures: list[PlotPicture]) -> str:
    """Return the whole page. All text except the kit's own SVG and CSS is escaped."""
    environment = templates(HERE)
    environment.filters.update(
        amount=text.amount,
        count=text.count,
        points=lambda part: text.points(part["earned"], part["possible"]),
        ratio=text.ratio,
        seconds=text.seconds,
        size=text.size,
        lines=lambda value: [text.printable(line) for line in value.splitlines()],
    )
    line, right = text.verdict(report)
    return environment.get_template("report.html.j2").render(
        report=report,
        verdict=line,
        right=right,
        css=css(),
        pictures=[
            {"figure": p.figure, "wide": Markup(p.wide), "narrow": Markup(p.narrow)}
            for p in pictures
        ],
        stages=[_stage(stage, index, report) for index, stage in enumerate(report["stages"])],
        metrics=[_metric(machine, report) for machine in report["machines"]],
        gaps=[gap_text(gap) for gap in report.get("gaps", [])],
        has_points=any(stage["points"] for stage in report["stages"]),
    )


def _finalize(value: Any) -> Any:
    """Return text with control characters escaped, and Markup and other values unchanged."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return text.printable(value)
    return value


def _stage(stage: Json, index: int, report: Report) -> Json:
    """Return a stage's fields and the values that the page shows besides them."""
    samples = stage["samples"]
    failures = stage["correctness"]["failures"]
    shown = [_failure(failure) for failure in failures[:MOST_FAILURES]]
    return {
        "title": "",
        "teaches": "",
        "log": "",
        "points_note": "",
        **stage,
        "anchor": f"stage-{index + 1}",
        "label": text.stage_label(stage, report),
        "lost": text.lost_lines(stage),
        "further": text.further_findings(stage),
        "shown": shown,
        "more": max(stage["correctness"]["failed"], len(failures)) - len(shown),
        "statistics": [key for key in STATISTICS if any(key in s for s in samples)],
        "memory": any(s.get("allocations") is not None for s in samples)
        or any(s.get("peak_bytes") is not None for s in samples),
        "outliers": any(s.get("outliers") for s in samples),
    }


def _failure(failure: Json) -> Json:
    expected, got = text.difference(failure, EXCERPT)
    return {"test": failure["test"], "n": failure.get("n"), "expected": expected, "got": got}


def _metric(machine: Json, report: Report) -> Json:
    """Return the speedups of one machine and metric, a row for each pair of stages and n."""
    key = (machine["name"], machine["metric"])
    own = [s for s in report["speedups"] if (s["machine"], s["metric"]) == key]
    own_phases = phases(own)
    found = {(s["from"], s["to"], s["n"], s["phase"]): s for s in own}
    rows = []
    last = None
    for start, end, n in sorted({(s["from"], s["to"], s["n"]) for s in own}):
        cells = [found.get((start, end, n, phase)) for phase in own_phases]
        pair = f"{start} → {end}"
        rows.append({"pair": pair, "first": pair != last, "n": n, "cells": cells})
        last = pair
    return {"machine": machine, "phases": own_phases, "rows": rows}
