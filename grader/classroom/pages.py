# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make the HTML pages of a class: class.html for the instructor, and one page for each student.

Each page is one file that loads no other; all text from submissions is escaped.
"""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from grader.classroom.similarity import SimilarPair
from grader.classroom.tables import ClassRow
from grader.report import html

HERE = Path(__file__).parent
# The range of points that each bar of the distribution covers. 100 points have a separate bar.
STEP = 10


def _environment() -> Environment:
    made = html.templates(HERE)
    made.globals["css"] = html.css() + Markup((HERE / "class.css").read_text(encoding="utf-8"))
    return made


def distribution(points: Sequence[int]) -> list[dict[str, Any]]:
    """Return the number of students for each range of points, and its percentage of the largest."""
    counts = [0] * (100 // STEP + 1)
    for one in points:
        counts[min(max(one, 0), 100) // STEP] += 1
    names = [f"{i * STEP} to {i * STEP + STEP - 1}" for i in range(100 // STEP)] + ["100"]
    most = max(counts) or 1
    return [
        {"name": name, "count": count, "share": round(100 * count / most)}
        for name, count in zip(names, counts)
    ]


def hardest(rows: Sequence[ClassRow], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the tasks with the percentage of points that the class earned, the lowest first."""
    found = []
    for name in names:
        lines = [line for row in rows for line in row.outcome.lines if line.name == name]
        possible = sum(line.possible for line in lines)
        if possible:
            share = round(100 * sum(line.earned for line in lines) / possible)
            full, none = sum(line.full for line in lines), sum(not line.earned for line in lines)
            found.append({"name": name, "share": share, "full": full, "none": none})
    return sorted(found, key=lambda one: int(one["share"]))


def failures(rows: Sequence[ClassRow]) -> list[dict[str, Any]]:
    """Return groups of equal causes, the largest first; numbers and quoted names are ignored."""
    found: dict[tuple[str, str], list[ClassRow]] = defaultdict(list)
    for row in rows:
        if row.outcome.status != "ok":
            alike = re.sub(r"0x[0-9a-f.]+|'[^']*'|[\d.,]+", "*", row.outcome.cause)
            found[row.outcome.status, alike[:60]].append(row)
    groups = [
        {"status": status, "cause": group[0].outcome.cause, "rows": group}
        for (status, _), group in found.items()
    ]
    return sorted(groups, key=lambda one: -len(one["rows"]))


def class_page(
    rows: Sequence[ClassRow],
    names: Sequence[str],
    facts: dict[str, Any],
    pairs: Sequence[SimilarPair] | None,
) -> str:
    """Return the instructor's page."""
    graded = [row for row in rows if row.outcome.graded]
    points = [row.outcome.earned for row in graded]
    return (
        _environment()
        .get_template("class.html.j2")
        .render(
            rows=rows,
            names=names,
            facts=facts,
            pairs=pairs,
            median=round(statistics.median(points)) if points else None,
            mean=round(statistics.mean(points)) if points else None,
            refused=sum(row.outcome.status == "refused" for row in rows),
            undone=len(rows) - len(graded),
            bars=distribution(points),
            hardest=hardest(graded, names),
            failures=failures(rows),
        )
    )


def student_page(row: ClassRow, facts: dict[str, Any]) -> str:
    """Return a student's page, which contains nothing about other students."""
    return _environment().get_template("student.html.j2").render(row=row, facts=facts)
