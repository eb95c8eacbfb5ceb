# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Points for a learner's function: what is wrong with each task, or nothing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from electives.memblock import kernels, measure, trial, variants
from electives.memblock.kernels import NotBuiltError, Way
from electives.memblock.variants import Variant
from electives.tasks import Task
from grader.base.progress import Progress

SEEDS = 1000
# What may happen in the random test of tasks 1 to 4: see harness/random.c.
MODES = {1: "", 2: "ox", 3: "ogf", 4: trial.ALL}
KERNELS_TESTS, INSTRUCTIONS = 5, 6
# The states that count, and how many times fewer instructions than the kernel's they must take, as
# the geometric mean of all: else one state in which an array grows would outweigh the rest.
STATES = (1, 8, 64, 127)
ENOUGH = 1.5


def tried(tasks: Sequence[Task], progress: Progress) -> dict[int, str]:
    """By the number of a task, what is wrong with it."""
    kernel = kernels.source()
    own = variants.solution()
    wrong = {task.number: "" for task in tasks}
    try:
        for way in (kernels.UMA, kernels.NUMA):
            out = _built(kernel, way, own, progress)
            for number in (*MODES, KERNELS_TESTS):
                wrong[number] = wrong[number] or _tried(out, number)
        if any(wrong.values()):
            wrong[INSTRUCTIONS] = "counted when all tests are passed"
        else:
            wrong[INSTRUCTIONS] = _too_many(kernel, own, progress)
    except NotBuiltError as error:
        return {task.number: str(error) for task in tasks}
    return wrong


def _built(kernel: Path, way: Way, variant: Variant, progress: Progress) -> Path:
    tests = kernels.tests(kernel, way, progress)
    progress.step(f"try {variant.where or variant.name}, {way.says}")
    return variants.build(kernel, tests, variant)


def _tried(out: Path, number: int) -> str:
    if number == KERNELS_TESTS:
        return trial.kernels_tests(out).wrong
    return trial.random_test(out, MODES[number], 0, SEEDS).wrong


def _too_many(kernel: Path, own: Variant, progress: Progress) -> str:
    counts = []
    for variant in (variants.KERNEL, own):
        out = _built(kernel, kernels.PLAIN, variant, progress)
        counts.append(measure.states(out, variant, STATES))
    times = statistics.geometric_mean(counts[0][key] / counts[1][key] for key in counts[0])
    if times >= ENOUGH:
        return ""
    return (
        f"{times:.2f} times fewer than the kernel's over all states, {ENOUGH:g} are asked for;"
        f" {measure.tally(*counts)}"
    )
