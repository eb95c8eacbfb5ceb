# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draw n of each size."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator


def drawn(below: int, top: int, parts: int, rng: random.Random) -> Iterator[int]:
    """Draw one n in each part of each octave between below and top."""
    count = math.ceil(parts * math.log2(top / below))
    ends = [min(top, math.floor(below * 2 ** (i / parts))) for i in range(count + 1)]
    for before, last in zip(ends, ends[1:]):
        if before < last:
            yield rng.randint(before + 1, last)
