# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Select the line of a compiler's output that is shown to a learner."""

from __future__ import annotations

import re

# The messages of gcc or the assembler when an output file exceeds the size limit.
_TOO_LARGE = re.compile(r"File size limit exceeded|[Ff]ile too (?:big|large)")
TOO_LARGE = (
    "the compiled output is too large: make the arrays or the repetition counts smaller, or compute"
    " the contents at run time"
)
# Patterns of error lines; the first pattern that matches wins.
_ERRORS = (
    r"^.+?:\d+:(?:\d+:)? (?:fatal |internal compiler )?error: .*",
    r"^.+?:\d+: (?:Fatal error|Error): .*",  # from the assembler
    r"^.*(?:error|undefined reference|multiple definition).*",
)


def error_line(text: str) -> str:
    """Return the first error line, without the lines of context around it."""
    if is_too_large(text):
        return TOO_LARGE
    for pattern in _ERRORS:
        match = re.search(pattern, text, re.MULTILINE)
        if match:
            # For assembly outside functions, the line number refers to a temporary file, so leave
            # it out.
            return re.sub(r"^/\S+\.s:\d+: ", "in assembly: ", match[0].strip())
    return next(iter(text.splitlines()), "the compiler printed nothing")


def is_too_large(text: str) -> bool:
    """Return whether the compiler was stopped because its output was too large."""
    return _TOO_LARGE.search(text) is not None
