# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compute the expected results with Python integers and check them against expected/."""

from __future__ import annotations

import hashlib
import math
import secrets
import sys
from collections.abc import Iterator
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
# The number of digits in a decimal limb.
LIMB_DIGITS = 18
# The search for an n near max_n that needs all limbs of a tight bound ends this far below max_n.
NEAR_TOP = 4000


# From this n on Python's decimal module is faster, because it multiplies by a number-theoretic
# transform and needs no conversion to decimal: 0.03 s instead of 0.6 s at n = 1,000,000.
DECIMAL_FROM = 20_000

Number = TypeVar("Number", int, Decimal)


def fibonacci(n: int) -> int:
    """Return F(n), computed with Python's integers."""
    return _fibonacci(n, 0, 1)


def _fibonacci(n: int, zero: Number, one: Number) -> Number:
    """Return F(n) from F(k) and F(k + 1), where k is n without its last bit.

    F(2k) = F(k) (2 F(k + 1) - F(k)) and F(2k + 1) = F(k)^2 + F(k + 1)^2; the last step takes only
    one of them.
    """
    a, b = zero, one  # F(k) and F(k + 1)
    for i in range(n.bit_length() - 1, 0, -1):
        a, b = a * (b + b - a), a * a + b * b
        if n >> i & 1:
            a, b = b, a + b
    return a * a + b * b if n & 1 else a * (b + b - a)


def _exact(n: int) -> Context:
    """Return a decimal context with enough digits for F(2n), which raises Inexact on rounding."""
    return Context(prec=n // 2 + 100, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])


def _text(n: int) -> str:
    """Return F(n) in decimal."""
    if n < DECIMAL_FROM:
        return str(fibonacci(n))
    with localcontext(_exact(n)):
        return f"{_fibonacci(n, Decimal(0), Decimal(1)):f}"


def _checked(n: int, text: str) -> str:
    """Return the digits of F(n). Raise LabError if they differ from expected/."""
    golden = _golden()
    if n in golden.small and golden.small[n] != text:
        raise LabError(f"expected/ and Python disagree on F({n})", "run git checkout expected")
    if n in golden.digests:
        count, first, last, sha = golden.digests[n]
        same = (len(text), text[:20], text[-20:]) == (count, first, last)
        if not same or hashlib.sha256(text.encode()).hexdigest() != sha:
            raise LabError(f"expected/ and Python disagree on F({n})", "run git checkout expected")
    return text


@lru_cache(maxsize=4096)
def digits(n: int) -> str:
    """Return the decimal digits of F(n)."""
    return _checked(n, _text(n))


def golden_n() -> list[int]:
    """Return the n above 1,000 for which expected/ has F(n)."""
    return sorted(n for n in _golden().digests if n > 1000)


# The row of expected/ for F(0) to F(1000) together.
SMALL = "0-1000"


@dataclass(frozen=True)
class _Golden:
    small: dict[int, str]
    digests: dict[int, tuple[int, str, str, str]]


@lru_cache(maxsize=1)
def _golden(folder: Path = paths.EXPECTED) -> _Golden:
    try:
        digests = {}
        of_small = ""
        for line in (folder / "digests.tsv").read_text().splitlines():
            if line and not line.startswith(("#", "n\t")):
                n, count, first, last, sha = line.split("\t")
                if n == SMALL:
                    of_small = sha
                    continue
                digests[int(n)] = (int(count), first, last, sha)
    except (OSError, ValueError) as error:
        raise LabError(
            f"expected/ cannot be read ({error})", "run git checkout expected"
        ) from error
    small = dict(zip(range(1001), _by_addition()))
    text = "".join(f"{n} {value}\n" for n, value in small.items())
    if hashlib.sha256(text.encode()).hexdigest() != of_small:
        raise LabError(
            "expected/ and Python disagree on F(0) to F(1000)", "run git checkout expected"
        )
    return _Golden(small, digests)


def _by_addition() -> Iterator[str]:
    """Yield the decimal digits of F(0), F(1), and so on, each by one addition."""
    a, b = 0, 1
    while True:
        yield str(a)
        a, b = b, a + b


def new_modulus(size: int = 62) -> int:
    """Return a random prime of that many bits, so that tested code cannot know it in advance."""
    while not _is_prime(candidate := 1 << size - 1 | secrets.randbits(size - 1) | 1):
        pass
    return candidate


def _is_prime(number: int) -> bool:
    """Return whether an odd number below 3.3 * 10^24 is prime (Miller and Rabin)."""
    # With these bases the test is exact for all numbers below that bound (Sorenson, Webster, 2015).
    shift = ((number - 1) & -(number - 1)).bit_length() - 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41):
        power = pow(base, (number - 1) >> shift, number)
        if power in (1, number - 1) or number == base:
            continue
        for _ in range(shift - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def residues(n: int, modulus: int) -> tuple[int, int]:
    """Return F(n) and F(n + 1) modulo a number, by fast doubling."""
    a, b = 0, 1 % modulus
    for i in reversed(range(n.bit_length())):
        a, b = a * (2 * b - a) % modulus, (a * a + b * b) % modulus
        if n >> i & 1:
            a, b = b, (a + b) % modulus
    return a, b


def residue(n: int, modulus: int) -> int:
    """Return F(n) modulo a number, checked against expected/ if expected/ has F(n)."""
    value = residues(n, modulus)[0]
    golden = _golden()
    right = n not in golden.small or int(golden.small[n]) % modulus == value
    if n in golden.digests:
        count, _, last, _ = golden.digests[n]
        tail = residues(n, 10 ** len(last))[0]
        right = right and count == digit_count(n) and int(last) == tail
    if not right:
        raise LabError(f"expected/ and Python disagree on F({n})", "run git checkout expected")
    return value


@lru_cache(maxsize=2)
def _logarithms(base: int) -> tuple[Decimal, Decimal]:
    """Return the logarithms of phi and of sqrt(5) to a base."""
    with localcontext(Context(prec=50)):
        five = Decimal(5)
        unit = Decimal(base).log10()
        return ((1 + five.sqrt()) / 2).log10() / unit, five.log10() / 2 / unit


def _whole_logarithm(n: int, base: int) -> int:
    """Return the logarithm of F(n), rounded down, for n from 100 on."""
    # F(n) = phi^n / sqrt(5), with a relative error below 10^-41.
    phi, root = _logarithms(base)
    with localcontext(Context(prec=50)):
        return int(n * phi - root)


def digit_count(n: int) -> int:
    """Return how many digits F(n) has."""
    return _whole_logarithm(n, 10) + 1 if n >= 100 else len(str(fibonacci(n)))


def bits(n: int) -> int:
    """Return how many bits F(n) has."""
    return _whole_logarithm(n, 2) + 1 if n >= 100 else fibonacci(n).bit_length()


@lru_cache(maxsize=4096)
def fnv1a(n: int) -> int:
    """Return the 64-bit FNV-1a hash of the digits of F(n), from which the driver makes digests.

    The hash takes 0.1 us for each digit. Therefore verification compares residues where it can.
    """
    value = FNV_OFFSET
    for byte in digits(n).encode():
        value = (value ^ byte) * FNV_PRIME & MASK
    return value


def digest(n: int, spread: int, repeat: int, nonce: int) -> int:
    """Return the digest that FIBDRV_IOC_MEASURE must return, see common/fibdrv.h."""
    hashes = [fnv1a(n - i) for i in range(min(spread + 1, repeat))]
    value = nonce
    for i in range(repeat):
        value = (value ^ hashes[i % (spread + 1)]) * FNV_PRIME & MASK
    return value


def digit_total(n: int, spread: int, repeat: int) -> int:
    """Return the number of digits that FIBDRV_IOC_MEASURE must return."""
    whole, rest = divmod(repeat, spread + 1)
    counts = [digit_count(n - i) for i in range(min(spread + 1, repeat))]
    return whole * sum(counts) + sum(counts[:rest])


def above_whole_limbs(top: int, decimal: bool) -> Iterator[int]:
    """Yield n near top whose last step has a factor with a very small highest limb.

    The factor F(k), or the Lucas number L(k), is slightly more than a power of the base, 2^64 or
    10^18. So these n find a bound on the number of limbs that is slightly too small, even if it is
    too small for only one n of 10,000.
    """
    log, limb = (math.log10, LIMB_DIGITS) if decimal else (math.log2, 64)
    for less in (log(5) / 2, 0.0):  # F(k) = phi^k / sqrt(5), L(k) = phi^k

        def above(k: int, less: float = less) -> float:
            return (k * log((1 + math.sqrt(5)) / 2) - less) % limb

        k = min(range((top - NEAR_TOP) // 2, top // 2 + 1), key=above)
        yield from (2 * k - 1, 2 * k)
