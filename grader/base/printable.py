# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
r"""Make untrusted text printable as soon as it is read.

A submission can influence compiler messages, program output, the kernel log and file names. A
terminal interprets some characters as commands, and some characters change the order of the text
around them. printable() replaces such characters by escape sequences: \x1b, \u202e.
"""

from __future__ import annotations

import re
import unicodedata

# Characters that may have to be replaced. Most texts contain none, so this search is a fast path.
_NOT_PLAIN = re.compile(r"[^ -~\n\t]")
# Do not replace the two zero-width joiners, because Persian and several Indian scripts need them
# and they do not reorder text.
_JOINERS = "\u200c\u200d"


def printable(text: str) -> str:
    """Return the text with control and formatting characters escaped; newlines and tabs stay."""
    return _NOT_PLAIN.sub(_written_out, text.replace("\r\n", "\n"))


def in_a_line(text: str) -> str:
    """Return a name as printable text without newlines and tabs."""
    return re.sub(r"[\n\t]", _written_out, _NOT_PLAIN.sub(_written_out, text))


def decoded(content: bytes) -> str:
    """Decode bytes as UTF-8 and return printable text."""
    return printable(content.decode(errors="replace"))


def _written_out(match: re.Match[str]) -> str:
    character = match[0]
    shows = character.isprintable() or unicodedata.category(character) == "Zs"
    if (shows and character not in "\n\t") or character in _JOINERS:
        return character
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:  # surrogate for a byte of a file name that is not UTF-8
        number -= 0xDC00
    if number < 0x100:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, f"\\x{number:02x}")
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
