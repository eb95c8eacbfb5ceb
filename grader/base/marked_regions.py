# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Passages of a source that are left to write: between two marks, the second with what stands in.

    /* task 1 { */
    the solution, any number of lines
    /* } task 1, until then: return 0; */

What stands in may be nothing, and keeps the rest working as far as it can.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from grader.base.errors import LabError

_PASSAGE = re.compile(
    r"^([ \t]*)/\* task (\d+) \{ \*/\n(.*?)^[ \t]*/\* \} task \2(?:, until then: (.*?))? \*/\n",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"/\* (?:task \d+ \{|\} task \d+)")


@dataclass(frozen=True)
class MarkedRegion:
    """A passage: its task, the solution, and the line it begins on, counted from 1."""

    task: int
    solution: str
    line: int


def find(text: str) -> Iterator[MarkedRegion]:
    """The passages of a source."""
    for match in _PASSAGE.finditer(text):
        yield MarkedRegion(int(match[2]), match[3], text.count("\n", 0, match.start()) + 1)


def skeleton(text: str, name: str, solved: Collection[int] = ()) -> str:
    """The source with its passages left to write, but for those of the tasks that are solved.

    name is said where a mark has no partner.
    """
    made = _PASSAGE.sub(lambda m: m[3] if int(m[2]) in solved else _left(m), text)
    if _MARK.search(made):
        raise LabError(f"{name}: a mark of a task has no end, or an end no beginning")
    return made


def _left(match: re.Match[str]) -> str:
    lines = [f"TODO: task {match[2]}", *([match[4]] if match[4] else [])]
    return "".join(
        f"{match[1]}{f'/* {line} */' if i == 0 else line}\n" for i, line in enumerate(lines)
    )
