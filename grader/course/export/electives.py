# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The electives' solutions: the passages of their sources that are tasks."""

from __future__ import annotations

from grader.base import passages, paths
from grader.course.export.solutions import telling

FOLDER = "electives/"
SOURCES = (".c", ".h", ".S")


def solution_lines() -> dict[str, str]:
    """Every telling line of every solution, and whose it is; not what stands elsewhere as well."""
    lines: dict[str, str] = {}
    given: set[str] = set()
    for path in sorted((paths.ROOT / FOLDER).rglob("*")):
        if path.suffix not in SOURCES:
            continue
        name = path.relative_to(paths.ROOT / FOLDER)
        text = path.read_text(encoding="utf-8")
        given |= telling(passages.skeleton(text, str(name)))
        for passage in passages.find(text):
            for line in telling(passage.solution):
                lines.setdefault(line, f"elective {name.parts[0]}, task {passage.task}")
    return {line: owner for line, owner in lines.items() if line not in given}
