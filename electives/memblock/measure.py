# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a call costs in each state of the array, and the function's share in the kernel's tests."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from electives.memblock import callgrind, splice
from electives.memblock.variants import Variant
from grader.base.errors import LabError
from grader.sandbox import ResourceLimits, run

ARRAY = 128  # regions that fit into the array before it grows
# Empty, few, half full (from 64 on the kernel counts first), nearly full, full: it grows.
REGIONS = (0, 1, 2, 4, 8, 16, 32, 48, 63, 64, 80, 96, 112, 127, 128)
# By the names of harness/states.c.
CALLS = {
    "append": "append at the end",
    "front": "insert in front",
    "second": "insert behind the first",
    "middle": "insert in the middle",
    "across": "across eight regions",
    "covered": "the last one once more",
}
# Tests that take longer take minutes under callgrind.
SHORT_SECONDS = 0.3
Counts = dict[tuple[str, int], int]


@dataclass(frozen=True)
class Share:
    """Instructions of the kernel's tests: all, the function's own, and with what it calls."""

    whole: int
    own: int
    called: int

    @property
    def percent(self) -> tuple[float, float]:
        """Both as shares."""
        return 100 * self.own / self.whole, 100 * self.called / self.whole


def states(out: Path, variant: Variant, regions: Sequence[int] = REGIONS) -> Counts:
    """Instructions of one memblock_reserve(), by call and regions: those of memblock.c.

    What the C library's memmove does is left out: it depends on the processor, and no kernel has
    it.
    """
    counts: Counts = {}
    for part in callgrind.count(out / "states", *(str(n) for n in regions)):
        if part.name:
            call, number = part.name.split()
            counts[call, int(number)] = part.inside("memblock.c", Path(variant.where).name)
    if ("append", max(regions)) not in counts:
        raise LabError("callgrind has not counted all states")
    return counts


def are_short(out: Path) -> bool:
    """Whether the kernel's tests are, in this version, short enough to be counted in seconds."""
    begin = time.monotonic()
    run([out / "main"], ResourceLimits(wall_seconds=60, cpu_seconds=60))
    return time.monotonic() - begin < SHORT_SECONDS


def share(out: Path) -> Share:
    """The function in the kernel's own tests."""
    part = callgrind.count(out / "main")[-1]
    whole, own = part.total(), part.instructions_of(splice.FUNCTION)
    if not own:
        raise LabError(f"{splice.FUNCTION}() is in no count: has the compiler inlined it?")
    return Share(whole, own, part.with_called(splice.FUNCTION, "memblock_double_array"))


def verdict(before: int, after: int) -> str:
    """An exact count against another."""
    if before == after:
        return "the same"
    if before >= 1.1 * after:
        return f"{before / after:.2f} times fewer"
    percent = 100 * abs(after - before) / before
    return f"{percent:.1f} % {'fewer' if after < before else 'more'}"


def tally(kernel: Counts, other: Counts) -> str:
    """In how many states another one is better, and where it is worst."""
    fewer = sum(other[key] < count for key, count in kernel.items())
    more = {key: other[key] / count for key, count in kernel.items() if other[key] > count}
    said = f"fewer instructions in {fewer} of {len(kernel)} states"
    if more:
        call, regions = max(more, key=lambda key: more[key])
        worst = 100 * (more[call, regions] - 1)
        said += f", more in {len(more)}: at most {worst:.1f} % ({CALLS[call]}, {regions} regions)"
    return said
