# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade a learner's function: find the problem of each task."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from electives.memblock import contract, kernels, measure, runner, variants
from electives.memblock.kernels import VariantNotBuiltError, Way
from electives.memblock.variants import Variant
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.base.progress import Progress

SEEDS = 1000
MOST_SEEDS = 1_000_000
# The mode letters and the number of seeds of each random test. Seeds with many regions take longer.
TRIED = (
    ("", SEEDS),
    (runner.SINGLE_BYTES, SEEDS),
    (runner.MANY_REGIONS, 60),
    (runner.HUGE, 2),
)
# Kinds of operations in the random test of tasks 1 to 4: see harness/random.c.
MODES = {1: "x", 2: "ox", 3: "ogfx", 4: runner.ALL}
LAST_MODE, INSTRUCTIONS = 4, 5
# The instructions of calls are counted in arrays that no call makes grow. Their positions and the
# numbers of regions are random, so that no function can know them. Each array is from another part
# of the range of numbers, and half of the arrays are lists of the memory. The random test has
# arrays of all these numbers (harness/random.c). ENOUGH_ACROSS and a part of the number of regions
# are the factors that are required between the kernel's count and the learner's.
FEW_REGIONS = (88, 112)
MANY_REGIONS = (700, 8000)
LEAST_ACROSS, MOST_ACROSS = 4, 12
# Task 2 opens one gap, and merges regions only at this gap. The kernel's function, which walks the
# array twice, takes 3.2 to 5.7 times as many instructions on Linux 6.1 as a linear search that does
# so, and from 106 regions on 2.4 to 2.7 times as many on 6.12. It takes 1.2 to 1.3 times as many on
# 6.1 as delayed allocation, which merges all regions, and 1.4 to 1.6 times as many on 6.12.
OVERLAPS = 2
ACROSS = ("across",)
ENOUGH_ACROSS = 2
# In an array of 7,000 regions, a binary search takes 650 to 830 times fewer instructions on 6.1, a
# linear search in steps of eight regions at most 175 times fewer, delayed allocation 1.3 times
# fewer. So the required factor is the number of regions divided by 25.
STATES = ("append", "middle", "covered")
REGIONS_A_FACTOR = 25
# The array is divided into this many parts. The calls are counted in each part, and the bound holds
# in each.
PARTS = 4


def judge(progress: Progress, seed: int) -> list[Finding | None]:
    """Return the problem of each task, or None, in order."""
    # The harness needs a seed of less than 32 bits for each of its sequences.
    drawn = random.Random(seed).randrange(MOST_SEEDS)
    kernel = kernels.source()
    own = variants.solution()
    numbers = [*MODES, INSTRUCTIONS]
    wrong = dict.fromkeys(numbers, "")
    try:
        counting = random.Random(seed).choice((kernels.PLAIN, kernels.PLAIN_NUMA))
        plain = [_built(kernel, counting, one, progress) for one in (variants.KERNEL, own)]
        violation = contract.violation(plain[1], plain[0])
        if violation:
            return [Finding("wrong", violation)] * len(numbers)
        for way in (kernels.UMA, kernels.NUMA):
            out = _built(kernel, way, own, progress)
            for number in MODES:
                wrong[number] = wrong[number] or _tried(out, number, drawn)
        right = not any(wrong.values())
        wrong[INSTRUCTIONS] = "" if right else "not counted before all tests pass"
        if not wrong[OVERLAPS]:
            counted = _Counted(plain, own, drawn, FEW_REGIONS, PARTS)
            wrong[OVERLAPS] = counted.too_many(
                ACROSS, lambda regions: ENOUGH_ACROSS, f"a range across {counted.across} regions"
            )
            if right:
                counted = _Counted(plain, own, drawn, MANY_REGIONS, PARTS)
                wrong[INSTRUCTIONS] = counted.too_many(
                    STATES, lambda n: n // REGIONS_A_FACTOR, f"{len(STATES)} calls"
                )
    except VariantNotBuiltError as error:
        return [Finding("build-failed", error.problem)] * len(numbers)
    return [Finding("wrong", message) if message else None for message in wrong.values()]


def _built(kernel: Path, way: Way, variant: Variant, progress: Progress) -> Path:
    tests = kernels.tests(kernel, way, progress)
    progress.step(f"try {variant.where or variant.name}, {way.says}")
    return variants.build(kernel, tests, variant)


def _tried(out: Path, number: int, drawn: int) -> str:
    wrong = ""
    for letters, seeds in TRIED:
        mode = MODES[number] + letters
        wrong = wrong or runner.random_test(out, mode, drawn * SEEDS, seeds).wrong
    if wrong or number != LAST_MODE:
        return wrong
    message = runner.kernels_tests(out).wrong
    return f"the kernel's own tests: {message}" if message else ""


class _Counted:
    """The instructions of the kernel's and of the learner's function, at random positions."""

    def __init__(
        self,
        plain: Sequence[Path],
        own: Variant,
        drawn: int,
        regions: tuple[int, int],
        parts: int,
    ) -> None:
        draw = random.Random(drawn).randint
        self.across = across = draw(LEAST_ACROSS, MOST_ACROSS)
        # The places in each array are in another part of it.
        self.arrays: dict[int, measure.Places] = {}
        least, ratio = regions[0], (regions[1] / regions[0]) ** (1 / parts)
        ends = [round(least * ratio**i) for i in range(parts + 1)]
        numbers = [draw(begin, end - 1) for begin, end in itertools.pairwise(ends)]
        random.Random(drawn).shuffle(numbers)
        memory = draw(0, 1)  # Every second array has the regions of the memory.
        for part, number in enumerate(numbers):
            last = number - 1

            def place(part: int, last: int = last) -> int:
                return draw(max(1, part * last // parts), (part + 1) * last // parts)

            self.arrays[last + 1] = measure.Places(
                middle=place(part),
                first=min(place(part), last - across),
                across=across,
                covered=place(parts - 1 - part),
                memory=part % 2 == memory,
            )
        self.counts, self.wrong = [], ""
        for variant, out in zip((variants.KERNEL, own), plain):
            try:
                self.counts.append(measure.states(out, self.arrays))
            except LabError as error:
                if variant is not own:
                    raise
                # The error is in the learner's function, because counting worked for the kernel's
                # function.
                self.wrong = f"not counted, because the regions are wrong: {error.problem}"

    def too_many(self, calls: Sequence[str], enough: Callable[[int], int], what: str) -> str:
        """Return the problem if the calls exceed a part of the kernel's count, or "".

        They must not exceed it in any of the arrays. The worst array is named.
        enough: returns the required factor between both counts, from the number of regions.
        """
        if self.wrong:
            return self.wrong
        counts = {
            regions: [sum(count[call, regions] for call in calls) for count in self.counts]
            for regions in self.arrays
        }
        if not all(own for _, own in counts.values()):
            return f"no instructions were counted for {what}"

        def part(regions: int) -> float:
            kernels_own, own = counts[regions]
            return kernels_own / own / enough(regions)

        regions = min(counts, key=part)
        kernels_own, own = counts[regions]
        if part(regions) >= 1:
            return ""
        return (
            f"{own:,} instructions for {what}, in an array of {regions}, the"
            f" kernel's {kernels_own:,}: {kernels_own / own:.1f} times fewer,"
            f" {enough(regions)} are required"
        )
