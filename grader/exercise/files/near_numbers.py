# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Choose n and lengths near the numbers that a stage's code compares with others.

A method may begin, or be wrong, at one length that random lengths miss. The code must compare the
length with a number then, and static_contract/ finds all such numbers in the objects. What a number
counts is not known, so it is tried as n and as a length in limbs of each width. The number may also
be compared with a product of two lengths, so the root of a large number is tried, too.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from grader.exercise.files import expected_values
from grader.exercise.files.stages import Manifest
from grader.exercise.files.traits import Traits

# Shorter lengths and smaller n are always tested. The kit's stages compare up to 60 numbers.
LEAST, MOST_NUMBERS = 8, 80
# A number from here on may be the square of a length.
_LEAST_SQUARE = 4096
# The possible widths of a limb, in bits, or in digits if limbs are decimal.
_BITS, _DIGITS = (32, 64), (expected_values.LIMB_DIGITS,)
_PHI = (1 + math.sqrt(5)) / 2


def chosen(compared: Sequence[int], rng: random.Random) -> list[int]:
    """Return the numbers near which tests are made; if there are too many, a random part."""
    useful = {number for number in compared if number >= LEAST}
    useful |= {math.isqrt(number) for number in useful if number >= _LEAST_SQUARE}
    return sorted(rng.sample(sorted(useful), min(len(useful), MOST_NUMBERS)))


def lengths(
    traits: Traits, compared: Sequence[int], least: int, most: int, rng: random.Random
) -> list[int]:
    """Return lengths of as many limbs as a number says, and of one more.

    A method that begins at the number, or behind it, has its first length among these.

    least, most: the range of the lengths, in bits, or in limbs if limbs are decimal
    """
    widths = (1,) if traits.decimal else _BITS
    found = {
        width * (number + more)
        for number in chosen(compared, rng)
        for width in widths
        for more in (0, 1)
    }
    return sorted(length for length in found if least <= length <= most)


def n_near(
    manifest: Manifest, compared: Sequence[int], rng: random.Random, few: int = 0
) -> list[int]:
    """Return n near each number, and n for which F(n), or a factor for it, has as many limbs.

    few: at most how many n are drawn for each number; 0 for all
    """
    found: set[int] = set()
    for number in chosen(compared, rng):
        if number > manifest.max_n + 1:  # F(n) has fewer than n limbs, too.
            continue
        near = [number - 1, number, number + 1]
        near += [n for limbs in tuple(near) for n in _as_long(manifest, limbs, rng)]
        within = [n for n in near if n <= manifest.max_n]
        found.update(rng.sample(within, min(few, len(within))) if few else within)
    return sorted(found)


def _as_long(manifest: Manifest, limbs: int, rng: random.Random) -> Iterator[int]:
    """Yield n for which F(n), or a factor in its last step, has this number of limbs."""
    if not manifest.traits.numbers:
        return
    for width in _DIGITS if manifest.traits.decimal else _BITS:
        first, last = (_first(manifest, width * i + 1) for i in (limbs - 1, limbs))
        if first <= manifest.max_n:
            yield rng.randrange(first, last)
            yield 2 * rng.randrange(first, last) + rng.randrange(2)


def _first(manifest: Manifest, length: int) -> int:
    """Return the least n for which F(n) has that many bits, or digits if limbs are decimal."""
    decimal = manifest.traits.decimal
    counted = expected_values.digit_count if decimal else expected_values.bits
    n = max(2, math.floor((length - 1) / math.log(_PHI, 10 if decimal else 2)) - 2)
    while counted(n) < length:
        n += 1
    return n
