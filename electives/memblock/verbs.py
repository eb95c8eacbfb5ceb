# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Commands of make elective=memblock, and the tests of its tasks."""

from __future__ import annotations

import argparse
import difflib
import json
import textwrap
from collections.abc import Callable
from pathlib import Path

from electives.memblock import boot, kernels, measure, points, runner, sample, show, variants
from electives.memblock.kernels import BuiltTests
from electives.memblock.measure import Counts, Share
from electives.memblock.sample import Sampled
from electives.memblock.variants import Variant
from grader.base import paths
from grader.base.errors import LabError
from grader.base.finding import Finding
from grader.base.progress import Progress

SEEDS = 1000


def judge(machine: str, seed: int) -> list[Finding | None]:
    """Grade the learner's function by random operations, the kernel's tests and instructions.

    Return the problem of each task, or None, in order. `machine` is not used, because everything
    runs on this computer.
    """
    progress = Progress()
    found = points.judge(progress, seed)
    progress.clear()
    return found


def _right(
    kernel: Path, every: list[Variant], seed: int, progress: Progress
) -> tuple[list[list[str]], bool]:
    """Return a row of test results for each variant, and True if all tests pass."""
    rows = [["", "the kernel's tests", "random operations"]]
    fine = True
    for variant in every:
        passed, words = [], ""
        for way in (kernels.UMA, kernels.NUMA):
            tests = kernels.tests(kernel, way, progress)
            progress.step(f"try {variant.name}, {way.says}")
            out = variants.build(kernel, tests, variant)
            own = runner.kernels_tests(out)
            passed.append(own.wrong or own.did)
            random = runner.random_test(out, runner.ALL, seed, SEEDS)
            given_up = variant.where == paths.shown(variants.DELAYED)
            if random.wrong and given_up and not words:
                rest = runner.random_test(out, runner.GIVEN_UP, seed, SEEDS)
                words = f"{random.wrong}; the rest: {rest.wrong or 'right'}"
                fine = fine and not rest.wrong
            elif random.wrong and not words:
                words = random.wrong
            fine = fine and not own.wrong and (given_up or not random.wrong)
        rows.append([variant.name, " / ".join(passed), words or "right"])
    return rows, fine


def _counted(
    kernel: Path, every: list[Variant], shares_too: bool, progress: Progress
) -> tuple[dict[str, Counts], dict[str, Share], BuiltTests]:
    tests = kernels.tests(kernel, kernels.PLAIN, progress)
    counts: dict[str, Counts] = {}
    shares: dict[str, Share] = {}
    for variant in every:
        progress.step(f"count the instructions of {variant.name}")
        out = variants.build(kernel, tests, variant)
        counts[variant.name] = measure.states(out)
        if shares_too or measure.are_short(out):
            progress.step(f"count the kernel's tests with {variant.name}")
            shares[variant.name] = measure.share(out)
    return counts, shares, tests


def _sampled(
    kernel: Path, every: list[Variant], runs: int, progress: Progress
) -> dict[str, Sampled]:
    if runs < 1:
        return {}
    tests = kernels.tests(kernel, kernels.UMA, progress)
    return {
        variant.name: sample.sample(variants.build(kernel, tests, variant), runs, progress.step)
        for variant in every
    }


def run(words: list[str]) -> int:
    """Test and measure all variants; print a table and draw a picture."""
    parser = argparse.ArgumentParser(prog="make memblock", description=run.__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the random test's first seed")
    parser.add_argument(
        "--share", action="store_true", help="count the kernel's tests though they take minutes"
    )
    parser.add_argument(
        "--sample", type=int, default=0, metavar="RUNS", help="and by sampling, as the patch was"
    )
    options = parser.parse_args(words)
    progress = Progress()
    kernel = kernels.source()
    every = variants.known()
    right, fine = _right(kernel, every, options.seed, progress)
    counts, shares, _ = _counted(kernel, every, options.share, progress)
    sampled = _sampled(kernel, every, options.sample, progress)
    progress.clear()

    label = f"memblock_add_range() of Linux {kernels.version(kernel)}"
    print(f"{label}, tests passed with NUMA off / on:")
    for name, passed, message in right[1:]:
        lead = f"  {name:8} {passed:>9}  "
        print(textwrap.fill(f"{lead}{message}", 100, subsequent_indent=" " * len(lead)))
    print("\nInstructions of one memblock_reserve(), in an array for 128 regions:")
    print(show.table(counts, shares))
    for variant in every[1:]:
        print(f"{variant.name}: {variant.says}; {_tally(counts, variant)}")
    for name, shares_of in sampled.items():
        print(f"{name}: by sampling {shares_of.line}")
    if len(shares) < len(every):
        print("The share in the kernel's tests takes minutes here: make memblock args=--share")
    folder = paths.BUILD / "memblock"
    show.picture(counts, label, folder / "memblock.svg")
    (folder / "memblock.json").write_text(_json(counts, shares), encoding="utf-8")
    print(f"Picture: {paths.shown(folder / 'memblock.svg')}")
    return 0 if fine else 1


def _tally(counts: dict[str, Counts], variant: Variant) -> str:
    return measure.tally(counts[variants.KERNEL.name], counts[variant.name])


def _json(counts: dict[str, Counts], shares: dict[str, Share]) -> str:
    """Return all counts as JSON, for comparing two runs."""
    return json.dumps(
        {
            "instructions": {
                name: {f"{call} {n}": count for (call, n), count in of.items()}
                for name, of in counts.items()
            },
            "tests": {
                name: {"all": s.whole, "own": s.own, "with called": s.called}
                for name, s in shares.items()
            },
        },
        indent=1,
    )


def kernel(words: list[str]) -> int:
    """Boot the lab kernel with a function in it, and compare its log with the kernel's own."""
    name = "make elective=memblock kernel"
    parser = argparse.ArgumentParser(prog=name, description=kernel.__doc__)
    parser.add_argument("function", nargs="?", help="delayed, or kernel, instead of yours")
    asked = parser.parse_args(words).function
    variant = variants.named(asked) if asked else variants.solution()
    progress = Progress()
    entry = boot.tree()
    linux = boot.built(entry, variant, progress)
    kernels_own = boot.built(entry, variants.KERNEL, progress)
    progress.step("boot both")
    larger = boot.end_of_image(linux) - boot.end_of_image(kernels_own)
    before = boot.moved(boot.log(kernels_own), larger)
    try:
        after = boot.log(linux)
    except LabError as error:
        after = [str(error)]
    progress.clear()
    label = f"Linux {boot.release(entry)} with {variant.name}"
    if before == after:
        print(f"{label} boots; memblock=debug prints the same as with the kernel's own function:")
        print(textwrap.indent("\n".join(before), "  "))
        offered = boot.offered(linux)
        print(f"It is {offered}: LAB_LINUX={offered} {paths.make('stage=2 load')}")
        return 0
    print(f"{label} differs from the kernel's own function:")
    for line in difflib.unified_diff(before, after, "kernel", variant.name, n=1, lineterm=""):
        print(f"  {line}")
    return 1


VERBS: dict[str, Callable[[list[str]], int]] = {"run": run, "kernel": kernel}
