# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Generate texts for a driver that reads a decimal number, in valid and invalid notations.

A text consists of parts that number notations have: a prefix, leading zeros, digits and a suffix.
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
_ZEROS = ("", "", "", "0", "00", "000000")
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
        text = "".join((draw.choice(_PREFIXES), draw.choice(_ZEROS), number, end))
        if len(text) <= max_bytes:
            yield text
    for _ in range(COUNT):
        yield _other_bit(f"{draw.randint(0, largest)}{draw.choice(ends)}", draw)
        yield str(_too_large(largest, max_bytes, draw))


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
