# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Read and verify the record that a test of untrusted code prints at its end.

test_record.h describes the record. Use:

nonce = test_record.draw()
ended = run(program, stdin=test_record.line(nonce))
text, record = test_record.split(ended.text)
fault = test_record.fault(record, nonce, values)
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

# The folder of test_record.h, and the headers that a test program includes.
INCLUDE = Path(__file__).resolve().parent
HEADERS = ("test_record.h", "test_support.h")
# Maximum number of checks, which limits the time that the comparison takes, to 2 s.
MOST = 2_000_000
_BEGINNING = "record: "
_LINE = re.compile(_BEGINNING + r"(\d{1,20}) checks, digest ([0-9a-f]{16})\n?\Z")

_WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Record:
    """The last line of a test: the number of checks it did, and their digest."""

    checks: int
    digest: int


def draw() -> int:
    """Return a nonce for one run."""
    return secrets.randbits(64)


def line(nonce: int) -> str:
    """Return the line that gives a test its nonce."""
    return f"{nonce:016x}\n"


def split(output: str) -> tuple[str, Record | None]:
    """Return a test's output without its record, and the record if it is the last line."""
    at = output.rfind(_BEGINNING)
    found = _LINE.match(output, at) if at >= 0 else None
    if found is None or at and output[at - 1] != "\n":
        return output, None
    return output[: max(at - 1, 0)], Record(int(found[1]), int(found[2], 16))


def _mix(x: int) -> int:
    """Return the output of SplitMix64 for the state x."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _WORD
    return x ^ x >> 31


def unvalued(checks: int) -> list[int]:
    """Return a list of zeros, the values of checks that have no value."""
    return [0] * min(checks, MOST)


def texts(lines: Iterable[str]) -> list[int]:
    """Return the values of checks that compare the lines of a text one by one."""
    values = []
    for text in lines:
        value = 0xCBF29CE484222325
        for byte in text.encode():
            value = (value ^ byte) * 0x100000001B3 & _WORD
        values.append(value)
    return values


def digest(nonce: int, values: Sequence[int]) -> int:
    """Return the digest of a record whose checks had these values, in order.

    This takes about 1 us for each check, less than numpy takes to start.
    """
    combined = 0
    for ordinal, value in enumerate(values, 1):
        combined ^= _mix(nonce ^ _mix(ordinal ^ _mix(value)))
    return combined


def fault(record: Record | None, nonce: int, values: Sequence[int]) -> str:
    """Return an error message if the record does not match these checks, else ""."""
    if record is None:
        return "the test ended before its last check, because it has printed no record"
    if record.checks != len(values):
        return (
            f"the test has done {record.checks:,} of {len(values):,} checks: "
            "it has lost its way, or something else printed its record"
        )
    if record.digest != digest(nonce, values):
        return "the record of the test is not that of this run: something else printed it"
    return ""
