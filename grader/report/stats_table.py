# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Format the table of `--stats all`: all statistics of each sample, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

HEAD = ("stage", "phase", "n", "rounds", "median", "95 % interval", "trimmed", "mean", "min", "max")
UNITS = {"ns": "nanoseconds", "instructions": "instructions"}


def _amount(value: float | None) -> str:
    """Format a value: two decimals below 100, one below 1000, else none; group thousands."""
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
    """Return all samples of a report (see report/schema.json) as tables.

    There is a table for each machine and metric. Values are for one call. "trimmed" is the mean of
    the rounds within two standard deviations; outliers are counted, and are included in every
    statistic.
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
            # Align words to the left and numbers to the right.
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
