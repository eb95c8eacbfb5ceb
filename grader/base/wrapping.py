# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Wrap text, also text of a script without spaces between words, such as Chinese."""

from __future__ import annotations

import re
import textwrap
import unicodedata

# A word or one wide character, with the punctuation that must stay on the same line.
_OPENING, _CLOSING = "「『（《", "，。、；：？！」』）》…"
_WIDE = "\u2e80-\u303f\u3100-\u9fff\uf900-\ufaff\uff00-\uffef"
_PIECE = re.compile(rf"\s+|[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_CLOSING}]*")


def columns(text: str) -> int:
    """Return the number of terminal columns that a text takes; a Chinese character takes two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wrapped(text: str, width: int, break_long_words: bool = True) -> list[str]:
    """Return the lines of a text, each of at most `width` columns."""
    if columns(text) == len(text):
        return textwrap.wrap(text, width, break_long_words=break_long_words, break_on_hyphens=False)
    lines, line = [], ""
    for piece in _PIECE.findall(text):
        if line and columns((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line = f"{line}{' ' if piece.isspace() else piece}".lstrip()
    return [*lines, line.rstrip()] if line.strip() else lines
