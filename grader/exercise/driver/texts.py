# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Generate texts for a driver that reads a decimal number, in valid and invalid notations.

A text consists of parts that number notations have: a prefix, leading zeros, digits and a suffix.
Leading zeros, and any bytes after a zero byte, make texts of all lengths.
Other texts differ from a valid one in one bit, or are too large by a multiple of a power of two.
One rule in value() decides what a text means, independent of its parts. A character is one byte.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

COUNT = 150
_PREFIXES = ("", "", "+", "0x", "0X", "0b", "0o", "-", " ", "#", "$", "\\")
_BEHIND = ("", "", "\n", "\n", "\n\n", "\0", "\0x", " ", "x", "abc", "a", "L", "u", ".", ".0", "e1",
           ",", ";", "h", "_1", " 1", "\n1", "8", "9")  # fmt: skip
_FURTHER = ("", "", "", "", "\0", "\0x", "\n", "+")
_BASES = ("{}", "{}", "{:o}", "{:x}", "{:b}")


def value(text: str) -> int | None:
    """Return the decimal number in a text, as common/first.h defines it; None if there is none."""
    match = re.fullmatch(r"\+?([0-9]+)\n?(\0.*)?", text, re.DOTALL)
    return int(match[1]) if match else None


def drawn(largest: int, max_bytes: int, draw: random.Random | None = None) -> Iterator[str]:
    """Yield texts of at most max_bytes bytes; some are valid numbers from 0 to largest.

    Zero and no digits come first, with each prefix and with each end that a number may have,
    because a text such as -0 is not valid although its value is. Without draw, the sequence is
    always the same.
    """
    digits = ("", "0", "00")
    ends = ("", "\n", "\0", "\n\0x")
    yield from map("".join, itertools.product(sorted({*_PREFIXES, "++"}), digits, ends))
    draw = draw or random.Random(largest)
    for _ in range(COUNT):
        number = draw.choice(_BASES).format(draw.randint(0, largest))
        end = draw.choice(_BEHIND) + draw.choice(_FURTHER)
        text = _filled(draw.choice(_PREFIXES), number + end, max_bytes, draw)
        if len(text) <= max_bytes:
            yield text
    for _ in range(COUNT):
        number = f"{draw.randint(0, largest)}{draw.choice(ends)}"
        yield _filled("", number, max_bytes, draw)
        yield _other_bit(_filled("", number, max_bytes, draw), draw)
        yield str(_too_large(largest, max_bytes, draw))


def _filled(prefix: str, rest: str, max_bytes: int, draw: random.Random) -> str:
    """Return a text with leading zeros and, after a zero byte, any bytes.

    Half of the texts have none of them; the others have any length up to max_bytes.
    """
    free = max(0, max_bytes - len(prefix) - len(rest))
    more = draw.choice((0, draw.randint(0, free)))
    behind = draw.choice((0, more, draw.randint(0, more))) if "\0" in rest else 0
    end = "".join(chr(draw.randrange(256)) for _ in range(behind))
    return f"{prefix}{'0' * (more - behind)}{rest}{end}"


def _other_bit(text: str, draw: random.Random) -> str:
    """Return a text of which one bit is different."""
    at = draw.randrange(len(text))
    return f"{text[:at]}{chr(ord(text[at]) ^ 1 << draw.randrange(8))}{text[at + 1 :]}"


def _too_large(largest: int, digits: int, draw: random.Random) -> int:
    """Return the sum of a valid number and a multiple of a power of two, with up to some digits."""
    most = int("9" * digits)
    bits = draw.randrange(largest.bit_length(), most.bit_length() - 1)
    times = draw.randint(1, (most - largest) >> bits)
    return draw.randint(0, largest) + (times << bits)


def word(text: str) -> str:
    """Return a text as a word of a request to the client (client/firstctl.h)."""
    escapes = {"\\": "\\\\", "\0": "\\0", "\n": "\\n", " ": "\\_"}
    return "".join(escapes.get(c, c if "!" <= c <= "~" else f"\\x{ord(c):02x}") for c in text)
