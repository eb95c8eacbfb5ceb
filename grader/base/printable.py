# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make untrusted text printable, once, where it enters.

A submission chooses the text of a compiler's message, of its program's output, of a kernel log, and
the names of its files. A terminal takes some characters for commands, and some change the order of
what stands beside them. After this function they are written out: \\x1b, \\u202e.
"""

from __future__ import annotations

import re
import unicodedata

# What is looked at one by one; in most texts there is none of it.
_NOT_PLAIN = re.compile(r"[^ -~\n\t]")
# Scripts of India and Persia, and many a name, need the two joiners. They reorder nothing.
_JOINERS = "\u200c\u200d"


def printable(text: str) -> str:
    """Return the text with all characters written out that do not merely show; lines stay lines."""
    return _NOT_PLAIN.sub(_written_out, text.replace("\r\n", "\n"))


def in_a_line(text: str) -> str:
    """Return the text printable, and as part of one line: for names."""
    return re.sub(r"[\n\t]", _written_out, _NOT_PLAIN.sub(_written_out, text))


def decoded(content: bytes) -> str:
    """Return the text of bytes, printable."""
    return printable(content.decode(errors="replace"))


def _written_out(match: re.Match[str]) -> str:
    character = match[0]
    shows = character.isprintable() or unicodedata.category(character) == "Zs"
    if (shows and character not in "\n\t") or character in _JOINERS:
        return character
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a file's name that is no UTF-8
        number -= 0xDC00
    if number < 0x100:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, f"\\x{number:02x}")
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
