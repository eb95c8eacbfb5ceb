# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Replace the marked regions of a solution by short code, so that learners write the solution.

    /* task 1 { */
    the solution, any number of lines
    /* } task 1, until then: return 0; */

The code after "until then" replaces the solution in the skeleton, so that the rest of the source
works as far as possible. This code may be omitted. Several lines of it can be written like any
comment of several lines in the kernel:

    /* } task 1, until then:
     * if (!a)
     *	return 0;
     */
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from grader.base.errors import LabError

_PASSAGE = re.compile(
    r"^([ \t]*)/\* task (\d+) \{ \*/\n(.*?)^[ \t]*/\* \} task \2(?:, until then:\s(.*?))?\s+\*/\n",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"/\* (?:task \d+ \{|\} task \d+)")


@dataclass(frozen=True)
class MarkedRegion:
    """A marked region: its task, the solution, and the number of its first line, from 1."""

    task: int
    solution: str
    line: int


def find(text: str) -> Iterator[MarkedRegion]:
    """Yield the marked regions of a source."""
    for match in _PASSAGE.finditer(text):
        yield MarkedRegion(int(match[2]), match[3], text.count("\n", 0, match.start()) + 1)


def skeleton(text: str, name: str, solved: Collection[int] = ()) -> str:
    """Return the source with its marked regions replaced, except for the solved tasks.

    Raise LabError if a start mark or end mark is missing. name: the source, for the error message.
    """
    made = _PASSAGE.sub(lambda m: m[3] if int(m[2]) in solved else _left(m), text)
    if _MARK.search(made):
        raise LabError(f"{name}: the begin or end mark of a task is missing", "add it")
    return made


def _left(match: re.Match[str]) -> str:
    code = match[4] or ""
    if re.match(r"[ \t]*\* ", code):
        # A tab keeps its place behind the star.
        code = "\n".join(
            re.sub(r"^[ \t]*\* ?", match[1] if i else "", line)
            for i, line in enumerate(code.split("\n"))
        )
    return f"{match[1]}/* TODO: task {match[2]} */\n" + (f"{match[1]}{code}\n" if code else "")
