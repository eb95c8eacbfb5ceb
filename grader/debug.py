# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command line of make debug, which runs stages on the debug kernel."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from grader.base import command
from grader.base.progress import Progress
from grader.course import learner_copy
from grader.exercise.files import stages
from grader.exercise.stress.debug_kernel import StressPlan, StressResult, in_words
from grader.lab import machines
from grader.scoring import pipeline

EPILOG = """\
Exit status: 0 no fault found, 1 a fault found, 2 the tests could not run.
"""
EXCERPT_LINES = 25


def _show(result: StressResult, plan: StressPlan) -> None:
    stage = result.built.stage
    figures = in_words(result.figures)
    verdict = f"A FAULT, found after {figures}" if result.cause else f"clean: {figures}"
    print(f"stage {stage.number} ({stage.key}), seed {plan.seed}: {verdict}")
    if result.cause:
        print(f"  {result.cause}")
        # A question mark marks stack entries that the kernel only guesses to be part of the trace.
        lines = [line for line in result.excerpt.splitlines() if "] ? " not in line]
        for line in lines[:EXCERPT_LINES]:
            print(f"    {line}")
        if len(lines) > EXCERPT_LINES:
            print(f"    ... {len(lines) - EXCERPT_LINES} more lines")


def main(words: list[str]) -> int:
    """Run stages on the debug kernel. Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="make debug",
        description="Test stages on the debug lab kernel: KASAN, kmemleak, lockdep, UBSAN, random"
        " calls, failing allocations.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--stage", default="", metavar="N,...", help="test only these stages (default: all)"
    )
    parser.add_argument("--tree", type=Path, help="test the stages in another directory")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random tests (default 1)")
    parser.add_argument(
        "--calls", type=int, default=100_000, help="number of random calls (default 100,000)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="run fewer tests, with at most 5,000 random calls"
    )
    options = parser.parse_args(words)
    plan = StressPlan(options.seed, min(options.calls, 5000) if options.quick else options.calls,
                options.quick)  # fmt: skip
    progress = Progress()
    found = 0
    numbers = stages.parse_numbers(options.stage) if options.stage else []
    machine = machines.get("uml-debug")
    # Without a stage number, examine the kit's own stages and not the learner's copies.
    chosen = numbers and not options.tree
    tree = options.tree or stages.home()
    for stage in learner_copy.choose(numbers) if chosen else stages.find(tree, numbers):
        tell = progress.substeps(f"stage {stage.number}", always=True)
        result = pipeline.stress(stage, machine, plan, tell)
        progress.clear()
        _show(result, plan)
        sys.stdout.flush()
        found += bool(result.cause)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(command.end("debug", lambda: main(sys.argv[1:])))
