# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Test whether a metric detects a difference of one percent without false alarms.

Each metric measures three programs that differ only in their number of loops: 98, 99 or 100. The
programs run in rounds, each in a different random order. Each program is measured as two identical
copies, so a difference between two copies is a false alarm.

For a clock, the Kolmogorov-Smirnov test decides whether two sets of runs come from the same
distribution; its p values are corrected for the number of comparisons (Holm). For the exact metric,
two counts differ if the difference exceeds its resolution.
"""

from __future__ import annotations

import argparse
import sys

from grader.base import command
from grader.base.errors import LabError
from grader.base.progress import Progress
from grader.lab import machines
from grader.measure import instructions, sensitivity
from grader.measure.stats import ALPHA


def main() -> int:
    """Measure and print the table. Return 0 if the exact metric detects one percent correctly."""
    parser = argparse.ArgumentParser(prog="grader/sensitivity.sh", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--runs", type=int, default=100, help="runs of each program (default 100)")
    parser.add_argument("--seed", type=int, default=1, help="of the random order (default 1)")
    args = parser.parse_args()
    if args.runs < 10:
        raise LabError(f"--runs {args.runs}: too few for the test", "give at least 10")
    progress = Progress()
    todo = sensitivity.order(args.runs, args.seed)
    tell = progress.step
    pinned = sensitivity.user_runs(todo, sensitivity.pinned(), "user, pinned", tell)
    counted = sensitivity.machine_runs(machines.get("qemu"), todo, tell)
    timed = sensitivity.machine_runs(machines.get("uml"), todo, tell)
    verdicts = [
        sensitivity.judge_clock(
            "user process", sensitivity.user_runs(todo, [], "user process", tell)
        ),
        sensitivity.judge_clock("user, pinned", pinned),
        sensitivity.judge_clock("kernel clock, uml", timed),
        sensitivity.judge_exact("instructions, qemu", counted),
    ]
    progress.clear()
    print(f"{args.runs} runs of 98, 99 and 100 loops, with two copies of each program.")
    print(f"Clocks: corrected p of the Kolmogorov-Smirnov test; p < {ALPHA} is a difference.")
    print(
        "Instructions: relative difference of the medians; for two copies of a program, the largest"
    )
    print(f"of any two runs. More than {instructions.RESOLUTION:.1%} is a difference.")
    print()
    print(sensitivity.table(verdicts))
    print(f"\n{progress.elapsed():.0f} s", file=sys.stderr)
    return 0 if verdicts[-1].sees and not verdicts[-1].wolf else 1


if __name__ == "__main__":
    sys.exit(command.end("sensitivity", main))
