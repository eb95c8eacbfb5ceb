# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What the answers should be: Python integers, and the golden output in expected/."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, localcontext
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from grader.base import paths
from grader.base.errors import LabError

sys.set_int_max_str_digits(0) if hasattr(sys, "set_int_max_str_digits") else None

FNV_PRIME = 0x100000001B3
FNV_OFFSET = 0xCBF29CE484222325
MASK = (1 << 64) - 1


# From here on Python takes longer to write an integer in decimal than its decimal module, which
# multiplies by a number-theoretic transform, takes for all of it: 1 s against 0.1 s at 1,000,000.
DECIMAL_FROM = 20_000

Number = TypeVar("Number", int, Decimal)


def fibonacci(n: int) -> int:
    """F(n) as Python's integers have it."""
    return _power(n, 0, 1)[1]


def _power(n: int, zero: Number, one: Number) -> tuple[Number, Number, Number]:
    """F(n + 1), F(n), F(n - 1) by the matrix [[1, 1], [1, 0]]^n: another way than the stages go."""
    # Rows of a symmetric matrix power: (x, y, z) stands for [[x, y], [y, z]].
    power, base = (one, zero, one), (one, one, zero)
    while n:
        if n & 1:
            power = _times(power, base)
        n >>= 1
        if n:
            base = _times(base, base)
    return power


def _times(
    p: tuple[Number, Number, Number], q: tuple[Number, Number, Number]
) -> tuple[Number, Number, Number]:
    yy = p[1] * q[1]
    return p[0] * q[0] + yy, p[0] * q[1] + p[1] * q[2], yy + p[2] * q[2]


def _exact(n: int) -> Context:
    """Room for the largest number on the way, F(2n); nothing may be rounded away."""
    return Context(prec=n // 2 + 100, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])


def _text(n: int) -> str:
    """F(n) in decimal."""
    if n < DECIMAL_FROM:
        return str(fibonacci(n))
    with localcontext(_exact(n)):
        return f"{_power(n, Decimal(0), Decimal(1))[1]:f}"


def _checked(n: int, text: str) -> str:
    """The digits of F(n), checked against expected/ where that knows n."""
    golden = _golden()
    if n in golden.small and golden.small[n] != text:
        raise LabError(f"expected/ and Python disagree on F({n}): the kit is broken, git status")
    if n in golden.digests:
        count, first, last, sha = golden.digests[n]
        same = (len(text), text[:20], text[-20:]) == (count, first, last)
        if not same or hashlib.sha256(text.encode()).hexdigest() != sha:
            raise LabError(f"expected/ and Python disagree on F({n}): the kit is broken")
    return text


@lru_cache(maxsize=4096)
def digits(n: int) -> str:
    """The decimal digits of F(n)."""
    return _checked(n, _text(n))


def bits(n: int) -> int:
    """How many bits F(n) has, without F(n) where that takes long."""
    if n < DECIMAL_FROM:
        return fibonacci(n).bit_length()
    # phi^n / sqrt(5) but for less than 10^-4000. Up to 10^7 the logarithm comes no closer to a
    # whole number than 2.6 * 10^-8; doubles have it to 10^-8.
    return int(n * math.log2((1 + math.sqrt(5)) / 2) - math.log2(5) / 2) + 1


def golden_n() -> list[int]:
    """The n above 1,000 that expected/ knows."""
    return sorted(n for n in _golden().digests if n > 1000)


@dataclass(frozen=True)
class _Golden:
    small: dict[int, str]
    digests: dict[int, tuple[int, str, str, str]]


@lru_cache(maxsize=1)
def _golden(folder: Path = paths.EXPECTED) -> _Golden:
    try:
        small = {}
        for line in (folder / "fibonacci-0-1000.txt").read_text().splitlines():
            n, value = line.split()
            small[int(n)] = value
        digests = {}
        for line in (folder / "digests.tsv").read_text().splitlines():
            if line and not line.startswith(("#", "n\t")):
                n, count, first, last, sha = line.split("\t")
                digests[int(n)] = (int(count), first, last, sha)
    except (OSError, ValueError) as error:
        raise LabError(f"expected/ cannot be read ({error}): git checkout expected") from error
    if set(small) != set(range(1001)):
        raise LabError("expected/fibonacci-0-1000.txt is not whole: git checkout expected")
    return _Golden(small, digests)


@lru_cache(maxsize=1)
def _pairs() -> list[list[int]]:
    """What two digits add to a hash, by the digits as they are in memory and its lowest byte.

    A byte changes the lowest byte of a hash only, by what that byte alone determines, and all else
    is a product: so two bytes can be taken in by one product and one look at a table.
    """
    table: list[list[int]] = [[]] * (1 + int.from_bytes(b"99", sys.byteorder))
    for x in b"0123456789":
        for y in b"0123456789":
            row = []
            for low in range(256):
                once = (low ^ x) * FNV_PRIME
                row.append((once ^ y) * FNV_PRIME - low * FNV_PRIME**2)
            table[int.from_bytes(bytes((x, y)), sys.byteorder)] = row
    return table


def _hash(text: str) -> int:
    """The 64-bit FNV-1a hash of digits: 50 ns for each, of which a run has millions."""
    value, data = FNV_OFFSET, text.encode()
    if len(data) % 2:
        value, data = (value ^ data[0]) * FNV_PRIME & MASK, data[1:]
    square = FNV_PRIME**2 & MASK
    for row in map(_pairs().__getitem__, memoryview(data).cast("H")):
        value = value * square + row[value & 0xFF] & MASK
    return value


# The hash and the number of digits of each F(n) that has been asked for.
_hashed: dict[int, tuple[int, int]] = {}


def _known(n: int) -> tuple[int, int]:
    if n not in _hashed:
        text = digits(n)
        _hashed[n] = _hash(text), len(text)
    return _hashed[n]


def recall(path: Path) -> int:
    """Know what another process has computed and kept: seconds of hashing. How many that are."""
    try:
        kept = json.loads(path.read_text())
        _hashed.update({int(n): (int(value), int(size)) for n, (value, size) in kept.items()})
    except (OSError, ValueError, TypeError, AttributeError):
        pass
    return len(_hashed)


def keep(path: Path, known: int) -> None:
    """Let other processes know what this one has computed, if it is more than was known."""
    if len(_hashed) <= known:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(_hashed))
    new.replace(path)


def learn(first: int, last: int) -> None:
    """Make hashes of F(first) to F(last) by additions, from the first two of them."""
    if all(n in _hashed for n in range(first, last + 1)):
        return
    with localcontext(_exact(last)):
        after, value, _ = _power(first, Decimal(0), Decimal(1))
        for n in range(first, last + 1):
            text = _checked(n, f"{value:f}")
            _hashed[n] = _hash(text), len(text)
            value, after = after, value + after


def fnv1a(n: int) -> int:
    """The 64-bit FNV-1a hash of the digits of F(n)."""
    return _known(n)[0]


def digest(n: int, spread: int, repeat: int, nonce: int) -> int:
    """What FIBDRV_IOC_MEASURE must return as digest: see common/fibdrv.h."""
    hashes = [fnv1a(n - i) for i in range(min(spread + 1, repeat))]
    value = nonce
    for i in range(repeat):
        value = (value ^ hashes[i % (spread + 1)]) * FNV_PRIME & MASK
    return value


def digit_total(n: int, spread: int, repeat: int) -> int:
    """What FIBDRV_IOC_MEASURE must return as digits."""
    whole, rest = divmod(repeat, spread + 1)
    counts = [_known(n - i)[1] for i in range(min(spread + 1, repeat))]
    return whole * sum(counts) + sum(counts[:rest])
