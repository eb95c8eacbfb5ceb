# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`--stats all`: every figure behind the medians, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

HEAD = ("stage", "phase", "n", "rounds", "median", "95 % interval", "trimmed", "mean", "min", "max")
UNITS = {"ns": "nanoseconds", "instructions": "instructions"}


def _amount(value: float | None) -> str:
    """Four significant figures where there are decimals, thousands grouped."""
    if value is None:
        return "-"
    places = 0 if value >= 1000 else 1 if value >= 100 else 2
    return f"{value:,.{places}f}"


def _rows(report: dict[str, Any], machine: str, metric: str) -> Iterator[list[str]]:
    for stage in report["stages"]:
        own = [s for s in stage["samples"] if (s["machine"], s["metric"]) == (machine, metric)]
        for sample in sorted(own, key=lambda s: (str(s["phase"]), int(s["n"]))):
            interval = sample["ci95"]
            yield [
                str(stage["number"]),
                sample["phase"],
                f"{sample['n']:,}",
                str(sample["count"]),
                _amount(sample["median"]),
                f"{_amount(interval[0])} - {_amount(interval[1])}" if interval else "-",
                *(_amount(sample.get(name)) for name in ("trimmed_mean", "mean", "min", "max")),
                str(sample.get("outliers", "-")),
            ]


def stats_table(report: dict[str, Any]) -> str:
    """All samples of a report (see report/schema.json), one table for each machine and metric.

    Figures are for one call. trimmed is the mean of the rounds within two standard deviations;
    outliers are counted, and kept in every figure.
    """
    blocks = []
    for machine in report["machines"]:
        rows = list(_rows(report, machine["name"], machine["metric"]))
        if not rows:
            continue
        table = [[*HEAD, "outliers"], *rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        lines = [f"{machine['name']}, {UNITS[machine['metric']]} for one call:"]
        for row in table:
            # Words to the left, numbers to the right.
            cells = [
                cell.ljust(width) if i == 1 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        blocks.append("\n".join(lines))
    if not blocks:
        return "Nothing was measured."
    blocks.append(
        "trimmed: the mean of the rounds within two standard deviations. Outliers lie 1.5"
        " quartile\ndistances outside the quartiles; they are kept in every figure."
    )
    return "\n\n".join(blocks)
