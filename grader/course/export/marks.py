# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Leave out the parts of a file that comments mark as not exported."""

from __future__ import annotations

import re

from grader.base.errors import LabError


def _own_marks(text: str) -> str:
    def blank_lines(part: re.Match[str]) -> str:
        """Return the line ends before a part, without a blank line that would be left over."""
        after = part.string[part.end() :]
        if len(part[1]) > 1 and (not after or after.startswith("\n")):
            return part[1][:-1] if after else "\n"
        return part[1]

    for begin, end in (
        (r"<!-- not exported -->", r"<!-- /not exported -->\n?"),
        (r"^# not exported\n", r"^# /not exported\n"),
    ):
        pattern = rf"(\n*){begin}.*?{end}"
        text = re.sub(pattern, blank_lines, text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"<!-- exported:\s*(.*?)\s*-->", r"\1", text, flags=re.DOTALL)


def without_marked(text: str, name: str) -> str:
    """Return a text for students, without the parts that are marked as not exported.

    The parts from "<!-- not exported -->" to "<!-- /not exported -->" and from "# not exported" to
    "# /not exported" are removed; "<!-- exported: TEXT -->" becomes TEXT.
    """
    made = _own_marks(text)
    if re.search(r"<!-- /?(not )?exported|^# /?not exported$", made, re.MULTILINE):
        raise LabError(
            f"{name}: the begin or end mark of a part that is not exported is missing", "add it"
        )
    return made
