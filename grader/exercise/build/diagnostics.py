# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Of all that a compiler has said, the line that a learner is told, and what it means."""

from __future__ import annotations

import re

# What gcc says when its own program, or the assembler, wrote more than it may.
_TOO_LARGE = re.compile(r"File size limit exceeded|[Ff]ile too (?:big|large)")
TOO_LARGE = (
    "what it compiles to is too large: make the array, or the number of repetitions, smaller that"
    " fills it, or compute what it holds"
)
# The first of these that a line fits counts.
_ERRORS = (
    r"^.+?:\d+:(?:\d+:)? (?:fatal |internal compiler )?error: .*",
    r"^.+?:\d+: (?:Fatal error|Error): .*",  # the assembler's
    r"^.*(?:error|undefined reference|multiple definition).*",
)


def error_line(text: str) -> str:
    """The line to tell: the first error, not what is said around it."""
    if is_too_large(text):
        return TOO_LARGE
    for pattern in _ERRORS:
        match = re.search(pattern, text, re.MULTILINE)
        if match:
            # Assembly outside of any function has no line of its own there.
            return re.sub(r"^/\S+\.s:\d+: ", "in assembly: ", match[0].strip())
    return next(iter(text.splitlines()), "the compiler said nothing")


def is_too_large(text: str) -> bool:
    """Whether the compiler was stopped for the size of what it wrote."""
    return _TOO_LARGE.search(text) is not None
