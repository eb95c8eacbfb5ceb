# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw the pictures of the grader's output."""

from __future__ import annotations

from .canvas import SMALL, Picture


def message() -> Picture:
    """Draw the parts of a line of check, and of the line below it."""
    p = Picture("message", "The parts of a line that check prints", 178)
    parts = (
        (14, 24, "[  0/ 20]", "points"),
        (104, 24, "multiply:", "the task"),
        (194, 24, "mul(0x2, 0x0):", "the call that went wrong"),
        (14, 82, "heap-use-after-free in bn_lshift", "what happened, and in which function"),
        (290, 82, "(bignum.c:199)", "file and line"),
        (14, 140, "next: task 4, multiply, at bignum.c:116", "where to go on: the task's function"),
    )
    for x, y, words, meaning in parts:
        p.text(x, y, words, "mono", size=13)
        p.text(x, y + 20, meaning, "dim", size=SMALL)
    return p


PICTURES = (message,)
