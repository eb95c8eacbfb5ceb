# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Grade a learner's function: find the problem of each task."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from electives.memblock import contract, kernels, measure, runner, variants
from electives.memblock.kernels import VariantNotBuiltError, Way
from electives.memblock.variants import Variant
from grader.base import seed
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.base.progress import Progress

SEEDS = 1000
# Kinds of operations in the random test of tasks 1 to 4: see harness/random.c.
MODES = {1: "", 2: "ox", 3: "ogf", 4: runner.ALL}
LAST_MODE, INSTRUCTIONS = 4, 5
# The calls that are counted in a nearly full array with a random number of regions, and the
# required factor of fewer instructions than the kernel's function. With 127 regions, a binary
# search takes about 12 (6.12) to 20 (6.1) times fewer; a linear search that merges only around the
# place, 3 to 5; delayed allocation 1.2 to 1.5.
FEWEST_REGIONS, MOST_REGIONS = 112, 127
STATES = ("append", "middle", "covered")
ENOUGH = 8


def judge(progress: Progress) -> list[Finding | None]:
    """Return the problem of each task, or None, in order."""
    kernel = kernels.source()
    own = variants.solution()
    numbers = [*MODES, INSTRUCTIONS]
    wrong = dict.fromkeys(numbers, "")
    try:
        plain = [_built(kernel, kernels.PLAIN, one, progress) for one in (variants.KERNEL, own)]
        violation = contract.violation(plain[1], plain[0])
        if violation:
            return [Finding("wrong", violation)] * len(numbers)
        for way in (kernels.UMA, kernels.NUMA):
            out = _built(kernel, way, own, progress)
            for number in MODES:
                wrong[number] = wrong[number] or _tried(out, number)
        if any(wrong.values()):
            wrong[INSTRUCTIONS] = "counted when all tests are passed"
        else:
            wrong[INSTRUCTIONS] = _too_many(plain, own)
    except VariantNotBuiltError as error:
        return [Finding("build-failed", str(error))] * len(numbers)
    return [Finding("wrong", message) if message else None for message in wrong.values()]


def _built(kernel: Path, way: Way, variant: Variant, progress: Progress) -> Path:
    tests = kernels.tests(kernel, way, progress)
    progress.step(f"try {variant.where or variant.name}, {way.says}")
    return variants.build(kernel, tests, variant)


def _tried(out: Path, number: int) -> str:
    whole_pages = runner.random_test(out, MODES[number], 0, SEEDS).wrong
    wrong = (
        whole_pages or runner.random_test(out, MODES[number] + runner.SINGLE_BYTES, 0, SEEDS).wrong
    )
    if wrong or number != LAST_MODE:
        return wrong
    message = runner.kernels_tests(out).wrong
    return f"the kernel's own tests: {message}" if message else ""


def _too_many(plain: Sequence[Path], own: Variant) -> str:
    chosen, _ = seed.chosen(None, "LAB_SEED=")
    regions = random.Random(chosen).randint(FEWEST_REGIONS, MOST_REGIONS)
    totals = []
    for variant, out in zip((variants.KERNEL, own), plain):
        try:
            counts = measure.states(out, variant, (regions,))
        except LabError as error:
            if variant is own:  # counting worked for the kernel's function
                return f"not counted, since what is reserved is wrong: {error}"
            raise
        totals.append(sum(counts[call, regions] for call in STATES))
    times = totals[0] / totals[1]
    if times >= ENOUGH:
        return ""
    return (
        f"{totals[1]:,} instructions for three calls with {regions} regions, the kernel's"
        f" {totals[0]:,}: {times:.1f} times fewer, {ENOUGH} are asked for"
    )
