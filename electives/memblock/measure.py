# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Count a call's instructions in each state of the array, and the function's share in the tests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from electives.memblock import callgrind, splice
from grader.base.errors import LabError
from grader.sandbox import ResourceLimits, run

ARRAY = 128  # capacity of the array before it grows
# Numbers of regions: none, few, half full (from 64 on the kernel's function counts first), nearly
# full, and full, so that the array grows.
REGIONS = (0, 1, 2, 4, 8, 16, 32, 48, 63, 64, 80, 96, 112, 127, 128)
# Descriptions of the calls, by their names in harness/states.c.
CALLS = {
    "append": "append at the end",
    "front": "insert in front",
    "second": "insert behind the first",
    "middle": "insert in the middle",
    "across": "across eight regions",
    "covered": "the last one once more",
}
# The source files of the harness, and of slab_is_available() in the kernel's tests.
OTHER_CODE = ("states.c", "slab.c")
# Longer tests are not counted by default, because they take minutes under callgrind.
SHORT_SECONDS = 0.3


@dataclass(frozen=True)
class Places:
    """The regions that the counted calls add, by index, and their list: see harness/states.c."""

    middle: int
    first: int
    across: int
    covered: int
    memory: bool

    def __str__(self) -> str:
        return f":{self.middle}:{self.first}:{self.across}:{self.covered}:{self.memory:d}"


Counts = dict[tuple[str, int], int]


@dataclass(frozen=True)
class Share:
    """Instruction counts of the kernel's tests.

    They are the total, the function's own count, and the function's count with its callees.
    """

    whole: int
    own: int
    called: int

    @property
    def percent(self) -> tuple[float, float]:
        """Return two shares of the function in percent: without and with its callees."""
        return 100 * self.own / self.whole, 100 * self.called / self.whole


def states(out: Path, arrays: Mapping[int, Places | str] = dict.fromkeys(REGIONS, "")) -> Counts:
    """Return the instructions of one call, by call and regions.

    arrays: the numbers of regions, and the regions to add, if not the default ones.

    Everything counts except OTHER_CODE and the C library. memmove of the C library is left out,
    because its count depends on the processor and no kernel uses it.
    """
    counts: Counts = {}
    for part in callgrind.count(out / "states", *(f"{n}{places}" for n, places in arrays.items())):
        if part.name:
            call, number = part.name.split()
            counts[call, int(number)] = part.inside("states", OTHER_CODE)
    if ("append", max(arrays)) not in counts:
        raise LabError("callgrind has not counted all states", "run the command again")
    return counts


def are_short(out: Path) -> bool:
    """Return True if this kernel version's tests are short enough to be counted."""
    begin = time.monotonic()
    run([out / "main"], ResourceLimits(wall_seconds=60, cpu_seconds=60))
    return time.monotonic() - begin < SHORT_SECONDS


def share(out: Path) -> Share:
    """Return the function's share in the kernel's own tests."""
    part = callgrind.count(out / "main")[-1]
    whole, own = part.total(), part.instructions_of(splice.FUNCTION)
    if not own:
        raise LabError(
            f"{splice.FUNCTION}() has no count, probably because the compiler inlined it",
            "declare it noinline",
        )
    return Share(whole, own, part.with_called(splice.FUNCTION, "memblock_double_array"))


def verdict(before: int, after: int) -> str:
    """Return the description of the difference between two exact counts."""
    if before == after:
        return "the same"
    if before >= 1.1 * after:
        return f"{before / after:.2f} times fewer"
    percent = 100 * abs(after - before) / before
    return f"{percent:.1f} % {'fewer' if after < before else 'more'}"


def tally(kernel: Counts, other: Counts) -> str:
    """Return the number of states in which the other function is better, and the worst state."""
    fewer = sum(other[key] < count for key, count in kernel.items())
    more = {key: other[key] / count for key, count in kernel.items() if other[key] > count}
    message = f"fewer instructions in {fewer} of {len(kernel)} states"
    if more:
        call, regions = max(more, key=lambda key: more[key])
        worst = 100 * (more[call, regions] - 1)
        message += (
            f", more in {len(more)}: at most {worst:.1f} % ({CALLS[call]}, {regions} regions)"
        )
    return message
